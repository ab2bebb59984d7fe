import { nanoUnits, type ResourceRequirements } from "@bunting/featureflags/resources";
import type { SourceProblem } from "../sources/source-problem.js";
import { isHugePages, isOvercommittable, isUsableResource, type Quantities } from "./usable-resources.js";

export interface SidecarResources {
  readonly resources: ResourceRequirements;
  /** With limits that equal the requests, so that a Pod of the class Guaranteed keeps it. */
  readonly guaranteed: ResourceRequirements;
  readonly problems: readonly SourceProblem[];
}

/**
 * What the sidecar may take: as in the open-feature-operator, the source's limits replace those of the operator as a whole, and its requests
 * theirs. What would have the Pod refused is mended or left out.
 */
export function sidecarResources(
  source: ResourceRequirements = {},
  defaults: ResourceRequirements,
): SidecarResources {
  const problems: SourceProblem[] = [];
  const requests = usable(isEmpty(source.requests) ? defaults.requests : source.requests, problems);
  const limits = usable(isEmpty(source.limits) ? defaults.limits : source.limits, problems);
  const raised = Object.entries(limits).map(([name, limit]) => {
    const request = requests[name];
    return [name, request !== undefined && isMore(request, limit) ? request : limit] as const;
  });
  for (const [name, limit] of raised)
    if (limit !== limits[name]) {
      const message = `the limit of ${name}, ${limits[name]}, is less than the request, ${limit}, which is taken for both; set the limit in resources.limits`;
      problems.push({ reason: "InvalidSetting", message });
    }
  const resources = mended({ requests, limits: Object.fromEntries(raised) }, problems);
  if (source.claims !== undefined && source.claims.length > 0) {
    const message =
      "resources.claims are left out: a Pod without these claims would be refused, and the sidecar has no use for them";
    problems.push({ reason: "InvalidSetting", message });
  }
  return { resources: present(resources), guaranteed: guaranteedOf(resources), problems };
}

function guaranteedOf({ requests, limits }: BothQuantities): ResourceRequirements {
  const both = { ...requests, ...limits };
  return present({ requests: both, limits: both });
}

function usable(quantities: Quantities = {}, problems: SourceProblem[]): Quantities {
  const refused = Object.entries(quantities).filter(([name, quantity]) => !isUsableResource(name, quantity));
  for (const [name, quantity] of refused)
    problems.push({
      reason: "InvalidSetting",
      message: `the resource ${name}: ${quantity} is left out: Kubernetes would refuse the Pod; write cpu, memory or the full name of a resource, and a quantity such as 100m or 64Mi; devices are whole, and huge pages multiples of their size`,
    });
  const names = new Set(refused.map(([name]) => name));
  return Object.fromEntries(Object.entries(quantities).filter(([name]) => !names.has(name)));
}

interface BothQuantities {
  readonly requests: Quantities;
  readonly limits: Quantities;
}

/** With limits that equal the requests of what can't be shared, and without huge pages if there is neither cpu nor memory. */
function mended({ requests, limits }: BothQuantities, problems: SourceProblem[]): BothQuantities {
  const hasBasis = ["cpu", "memory"].some((name) => name in requests || name in limits);
  const both = new Map(
    Object.entries({ ...requests, ...limits }).filter(([name]) => !isOvercommittable(name)),
  );
  for (const [name, quantity] of both) {
    const isLeftOut = isHugePages(name) && !hasBasis;
    if (isLeftOut) both.delete(name);
    const { [name]: request = quantity } = requests;
    if (!isLeftOut && name in limits && !isMore(quantity, request)) continue;
    const message = isLeftOut
      ? `the resource ${name} is left out: Kubernetes gives huge pages only to containers with cpu or memory`
      : `the request and the limit of ${name} are ${quantity} both: Kubernetes would refuse the Pod otherwise; set the limit in resources.limits`;
    problems.push({ reason: "InvalidSetting", message });
  }
  const shared = (quantities: Quantities): Quantities =>
    Object.fromEntries(Object.entries(quantities).filter(([name]) => isOvercommittable(name)));
  const unshared = Object.fromEntries(both);
  return { requests: { ...shared(requests), ...unshared }, limits: { ...shared(limits), ...unshared } };
}

function isMore(a: string | number, b: string | number): boolean {
  return (nanoUnits(a) ?? 0n) > (nanoUnits(b) ?? 0n);
}

function isEmpty(quantities: Quantities | undefined): boolean {
  return quantities === undefined || Object.keys(quantities).length === 0;
}

function present({ requests, limits }: BothQuantities): ResourceRequirements {
  return { ...(isEmpty(requests) ? {} : { requests }), ...(isEmpty(limits) ? {} : { limits }) };
}
