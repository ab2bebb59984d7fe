import type { ResourceRequirements } from "@bunting/featureflags/resources";
import { nanoUnits } from "../pod/quantity.js";
import type { SourceProblem } from "../sources/source-problem.js";

type Quantities = Readonly<Record<string, string | number>>;

export interface SidecarResources {
  readonly resources: ResourceRequirements;
  /** With limits that equal the requests, so that a Pod of the class Guaranteed keeps it. */
  readonly guaranteed: ResourceRequirements;
  readonly problems: readonly SourceProblem[];
}

/** What containers may ask for by name; other resources have a domain in front. */
const plainResources = /^(?:cpu|memory|ephemeral-storage|hugepages-[0-9A-Za-z.]+)$/;

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
  const resources = { requests, limits: Object.fromEntries(raised) };
  if (source.claims !== undefined && source.claims.length > 0) {
    const message =
      "resources.claims are left out: a Pod without these claims would be refused, and the sidecar has no use for them";
    problems.push({ reason: "InvalidSetting", message });
  }
  return { resources: present(resources), guaranteed: guaranteedOf(resources), problems };
}

function guaranteedOf({
  requests,
  limits,
}: {
  readonly requests: Quantities;
  readonly limits: Quantities;
}): ResourceRequirements {
  const both = { ...requests, ...limits };
  return present({ requests: both, limits: both });
}

function usable(quantities: Quantities = {}, problems: SourceProblem[]): Quantities {
  const refused = Object.entries(quantities).filter(([name, quantity]) => !isUsable(name, quantity));
  for (const [name, quantity] of refused)
    problems.push({
      reason: "InvalidSetting",
      message: `the resource ${name}: ${quantity} is left out: Kubernetes would refuse the Pod; write cpu, memory or the full name of a resource, and a quantity such as 100m or 64Mi`,
    });
  const names = new Set(refused.map(([name]) => name));
  return Object.fromEntries(Object.entries(quantities).filter(([name]) => !names.has(name)));
}

function isUsable(name: string, quantity: string | number): boolean {
  const units = nanoUnits(quantity);
  return units !== undefined && units >= 0n && (plainResources.test(name) || /^[^/]+\/[^/]+$/.test(name));
}

function isMore(a: string | number, b: string | number): boolean {
  return (nanoUnits(a) ?? 0n) > (nanoUnits(b) ?? 0n);
}

function isEmpty(quantities: Quantities | undefined): boolean {
  return quantities === undefined || Object.keys(quantities).length === 0;
}

function present({
  requests,
  limits,
}: {
  readonly requests: Quantities;
  readonly limits: Quantities;
}): ResourceRequirements {
  return { ...(isEmpty(requests) ? {} : { requests }), ...(isEmpty(limits) ? {} : { limits }) };
}
