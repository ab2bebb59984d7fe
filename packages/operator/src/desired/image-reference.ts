/** `IMAGE:TAG`, or `IMAGE@sha256:…` if the tag is a digest; the image as it is if there is no tag. */
export function imageReference(image: string, tag: string): string {
  if (tag === "") return image;
  return tag.startsWith("sha256:") ? `${image}@${tag}` : `${image}:${tag}`;
}

/** The longest value of a label. */
const maxLabelLength = 63;

/** The tag or digest of an image as the value of a label. */
export function imageRevision(image: string): string {
  const [name = "", digest] = image.split("@", 2);
  const tag = /:([^:/]+)$/.exec(name)?.[1];
  return (digest ?? tag ?? "latest")
    .replace(/[^-\w.]/g, "-")
    .slice(0, maxLabelLength)
    .replace(/^[^a-zA-Z0-9]+|[^a-zA-Z0-9]+$/g, "");
}

const pathPart = "[a-z0-9]+(?:(?:[.]|_|__|-+)[a-z0-9]+)*";

/** An image with a tag or a digest. The resource type AgentRollout has the same, and so no registry with an IPv6 address. */
export const imagePattern = `^(?:[a-zA-Z0-9][a-zA-Z0-9.-]*(?::[0-9]{1,5})?/)?${pathPart}(?:/${pathPart})*(?::[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}(?:@sha256:[a-f0-9]{64})?|@sha256:[a-f0-9]{64})$`;

const ipv6Registry = /^\[[a-fA-F0-9:]+\](?=[:/])/;

/** As in the resource type. */
const maxImageLength = 512;

/** True for a text that names an image, with a tag or a digest. */
export function isImageReference(text: string): boolean {
  return (
    text.length <= maxImageLength && new RegExp(imagePattern).test(text.replace(ipv6Registry, "registry"))
  );
}

/** True for a text that containers can have: an image that names neither tag nor digest is the latest. */
export function isImageOfContainer(text: string): boolean {
  return isImageReference(text) || isImageReference(`${text}:latest`);
}
