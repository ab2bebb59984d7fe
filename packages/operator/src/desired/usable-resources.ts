import { nanoUnits } from "@bunting/featureflags/resources";
import { isObjectName } from "@bunting/protocol";

/** Limits and requests of a container by resource. */
export type Quantities = Readonly<Record<string, string | number>>;

const plainResources: ReadonlySet<string> = new Set(["cpu", "memory", "ephemeral-storage"]);
const hugePages = "hugepages-";
/** Of resources of Kubernetes itself, wherever it stands in the name. */
const nativePart = "kubernetes.io/";
/** What ResourceQuotas put in front. */
const quotaPrefix = "requests.";
const one = 1_000_000_000n;
const maxNameLength = 63;
const namePattern = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

/** True if an API server accepts the resource, with this quantity, for a container. */
export function isUsableResource(name: string, quantity: string | number): boolean {
  const units = nanoUnits(quantity);
  if (units === undefined || units < 0n || !isQualified(name)) return false;
  if (name.startsWith(hugePages) && !name.includes("/")) {
    const size = nanoUnits(name.slice(hugePages.length)) ?? 0n;
    return size > 0n && size % one === 0n && units % size === 0n;
  }
  if (!name.includes("/")) return plainResources.has(name);
  if (name.includes(nativePart)) return true;
  return !name.startsWith(quotaPrefix) && isQualified(`${quotaPrefix}${name}`) && units % one === 0n;
}

/** False for resources of which a container must request as much as its limit is, and have a limit: those of devices, and huge pages. */
export function isOvercommittable(name: string): boolean {
  return (!name.includes("/") || name.includes(nativePart)) && !isHugePages(name);
}

/** Huge pages are given only to containers with cpu or memory. */
export function isHugePages(name: string): boolean {
  return name.startsWith(hugePages);
}

function isQualified(text: string): boolean {
  const parts = text.split("/");
  const name = parts.at(-1) ?? "";
  if (parts.length > 2 || name.length > maxNameLength || !namePattern.test(name)) return false;
  if (parts.length === 1) return true;
  const [prefix = ""] = parts;
  return isObjectName(prefix);
}
