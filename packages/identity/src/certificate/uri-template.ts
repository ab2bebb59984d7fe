/** Reads a ServiceAccount from a URI; undefined if the URI is of another form. */
export type UriTemplate = (
  uri: string,
) => { readonly namespace: string; readonly serviceAccount: string } | undefined;

/** The longest names that Kubernetes allows; nothing in them can end a part of a URI. */
const namespacePattern = "(?<namespace>[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)";
const serviceAccountPattern = "(?<serviceAccount>[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?)";

/**
 * Compiles a template such as `spiffe://cluster.local/ns/{namespace}/sa/{serviceAccount}`: all else in it is taken literally.
 *
 * @throws Error with a sentence if it does not have both placeholders once
 */
export function uriTemplate(template: string): UriTemplate {
  const parts = template.split(/(\{namespace\}|\{serviceAccount\})/);
  const count = (placeholder: string): number => parts.filter((part) => part === placeholder).length;
  if (count("{namespace}") !== 1 || count("{serviceAccount}") !== 1)
    throw new Error("it has to contain {namespace} and {serviceAccount} once each");
  const source = parts
    .map((part) => {
      if (part === "{namespace}") return namespacePattern;
      return part === "{serviceAccount}" ? serviceAccountPattern : literal(part);
    })
    .join("");
  const pattern = new RegExp(`^${source}$`);
  return (uri) => {
    const { namespace, serviceAccount } = pattern.exec(uri)?.groups ?? {};
    if (namespace === undefined || serviceAccount === undefined) return undefined;
    return { namespace, serviceAccount };
  };
}

function literal(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
