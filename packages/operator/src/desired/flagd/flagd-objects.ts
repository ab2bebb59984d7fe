import type { SourceProblem } from "../../sources/source-problem.js";
import type { DesiredObject } from "../desired-object.js";
import { flagdAutoscaler } from "./flagd-autoscaler.js";
import { flagdDeployment, type FlagdPods } from "./flagd-deployment.js";
import { flagdIngress } from "./flagd-ingress.js";
import { flagdRoute } from "./flagd-route.js";
import { flagdService } from "./flagd-service.js";

/** The objects of a Flagd. */
export interface FlagdObjects {
  readonly deployment: DesiredObject;
  readonly service: DesiredObject;
  readonly autoscaler: OptionalObject;
  readonly ingress: OptionalObject;
  /** Of a type that few clusters serve. */
  readonly route: OptionalObject;
  /** What of its FeatureFlagSource is not served. */
  readonly problems: readonly SourceProblem[];
}

/** An object that is deleted if it is not wanted. */
export interface OptionalObject {
  readonly isWanted: boolean;
  readonly object: DesiredObject;
}

export function flagdObjects(pods: FlagdPods): FlagdObjects {
  const { flagd, settings } = pods;
  const { autoscaling, ingress, gatewayApiRoutes } = flagd.spec;
  const { deployment, problems } = flagdDeployment(pods);
  return {
    deployment,
    service: flagdService(flagd, settings),
    autoscaler: { isWanted: autoscaling !== undefined, object: flagdAutoscaler(flagd, settings) },
    ingress: { isWanted: ingress?.enabled === true, object: flagdIngress(flagd, settings) },
    route: { isWanted: gatewayApiRoutes?.enabled === true, object: flagdRoute(flagd, settings) },
    problems,
  };
}
