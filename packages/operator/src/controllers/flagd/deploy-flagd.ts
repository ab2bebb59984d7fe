import type { Flagd } from "@bunting/featureflags/resources";
import type { Discovery, EventRecorder, RestClient } from "@bunting/kube";
import type { DesiredObject } from "../../desired/desired-object.js";
import { flagdObjects, type FlagdObjects } from "../../desired/flagd/flagd-objects.js";
import type { FlagdSettings } from "../../desired/flagd/flagd-settings.js";
import type { InjectionInputs } from "../../desired/injection.js";
import { openShiftUsers } from "../../desired/sidecar-entry.js";
import { planSources } from "../../sources/source-plan.js";
import { sentencesOf } from "../../sources/source-problem.js";
import { nameTaken, type AppliedEvents } from "../apply/applied-events.js";
import type { Applied, Applier } from "../apply/applier.js";
import { resourceTypes } from "../apply/resource-types.js";
import type { FlagdOutcome, FlagdProblem } from "./flagd-outcome.js";

/** What deploying Flagds needs of the cluster. */
export interface FlagdCluster {
  readonly client: Pick<RestClient, "apply" | "get">;
  readonly applier: Pick<Applier, "apply" | "remove">;
  /** What applies the objects of a Flagd with these annotations; absent: `applier`. */
  readonly applierFor?: (annotations: Readonly<Record<string, string>>) => Pick<Applier, "apply" | "remove">;
  readonly events: Pick<EventRecorder, "record">;
  readonly discovery: Pick<Discovery, "serves">;
}

/** What a Flagd is made of, beside its own spec. */
export interface FlagdInputs {
  readonly sources: Pick<InjectionInputs, "namespace" | "catalogue" | "rules">;
  readonly settings: FlagdSettings;
}

/** The objects of a Flagd. If its FeatureFlagSource can't be used, there are none to apply, and they stay as they are. */
export function planFlagd(
  flagd: Flagd,
  { sources, settings }: FlagdInputs,
): FlagdObjects | (FlagdOutcome & { readonly kind: "refused" }) {
  const rules = { ...sources.rules, isFlagd: settings.isFlagd ?? false };
  const planned = planSources(flagd.spec.featureFlagSource, sources.catalogue, rules);
  if (planned.kind === "refused") {
    const { reason = "NoSources" } = planned.problems.at(-1) ?? {};
    return { kind: "refused", problem: { reason, message: sentencesOf(planned.problems) } };
  }
  const { plan } = planned;
  const choosesUser = sources.namespace.annotations[openShiftUsers] === undefined;
  return flagdObjects({ flagd, plan, settings, choosesUser });
}

/**
 * Applies the objects of a Flagd, and deletes those that it no longer wants.
 *
 * @throws KubeError
 */
export async function deployFlagd(
  flagd: Flagd,
  objects: FlagdObjects,
  cluster: FlagdCluster,
  news: AppliedEvents,
  signal: AbortSignal,
): Promise<FlagdOutcome> {
  const servesRoutes = await cluster.discovery.serves(resourceTypes.HTTPRoute, signal);
  await removeUnwanted(objects, servesRoutes, cluster, signal);
  const problems: FlagdProblem[] = [...objects.problems];
  if (objects.route.isWanted && !servesRoutes) problems.push(routesNotServed);
  const applier = cluster.applierFor?.(flagd.metadata.annotations ?? {}) ?? cluster.applier;
  const apply = async (object: DesiredObject): Promise<Applied> => {
    const applied = await applier.apply(object, signal);
    news.report(object, applied);
    return applied;
  };
  const taken = (object: DesiredObject): FlagdProblem => ({
    reason: "NameTaken",
    message: nameTaken(object),
  });
  const { kind, object: deployment } = await apply(objects.deployment);
  if (kind === "nameTaken") return { kind: "refused", problem: taken(objects.deployment) };
  for (const object of others(objects, servesRoutes))
    if ((await apply(object)).kind === "nameTaken") problems.push(taken(object));
  return { kind: "applied", deployment: deployment, problems };
}

const routesNotServed: FlagdProblem = {
  reason: "RoutesNotServed",
  message:
    "there is no HTTPRoute: this cluster does not serve gateway.networking.k8s.io/v1; install the Gateway API, or disable gatewayApiRoutes",
};

/** The ways to the Pods, and what decides about their number. */
function others(
  { service, autoscaler, ingress, route }: FlagdObjects,
  servesRoutes: boolean,
): readonly DesiredObject[] {
  return [
    service,
    ...(autoscaler.isWanted ? [autoscaler.object] : []),
    ...(ingress.isWanted ? [ingress.object] : []),
    ...(route.isWanted && servesRoutes ? [route.object] : []),
  ];
}

async function removeUnwanted(
  { autoscaler, ingress, route }: FlagdObjects,
  servesRoutes: boolean,
  { applier }: FlagdCluster,
  signal: AbortSignal,
): Promise<void> {
  if (!autoscaler.isWanted) await applier.remove(autoscaler.object, signal);
  if (!ingress.isWanted) await applier.remove(ingress.object, signal);
  if (!route.isWanted && servesRoutes) await applier.remove(route.object, signal);
}
