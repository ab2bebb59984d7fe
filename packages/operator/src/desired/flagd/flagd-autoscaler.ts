import { defaultedFlagd, type Flagd } from "@bunting/featureflags/resources";
import type { DesiredObject } from "../desired-object.js";
import { flagdMetadata, type FlagdSettings } from "./flagd-settings.js";

const defaultCpuPercentage = 80;

/** The HorizontalPodAutoscaler of a Flagd, also of one that does not want it: then it is what is deleted. */
export function flagdAutoscaler(flagd: Flagd, settings: FlagdSettings): DesiredObject {
  const { autoscaling = { maxReplicas: 1 } } = defaultedFlagd(flagd.spec);
  const { minReplicas, maxReplicas } = autoscaling;
  const { targetMemoryUtilizationPercentage: memory, targetCPUUtilizationPercentage: given } = autoscaling;
  const cpu = given ?? (memory === undefined ? defaultCpuPercentage : undefined);
  return {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: flagdMetadata(flagd, settings),
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: flagd.metadata.name },
      minReplicas,
      maxReplicas,
      metrics: [...utilization("cpu", cpu), ...utilization("memory", memory)],
    },
  };
}

function utilization(name: string, averageUtilization: number | undefined): readonly object[] {
  if (averageUtilization === undefined) return [];
  return [{ type: "Resource", resource: { name, target: { type: "Utilization", averageUtilization } } }];
}
