/** What the owner of a Pod can do, by the word in its annotation `bunting.dev/not-injected`. */
const advices: ReadonlyMap<string, string> = new Map([
  [
    "HostNetwork",
    "Set hostNetwork to false, use an InProcessConfiguration in place of the FeatureFlagSource, or have the operator inject such Pods: --host-network-pods=inject.",
  ],
  [
    "Windows",
    "Use an InProcessConfiguration in place of the FeatureFlagSource: the sidecar runs on Linux only.",
  ],
  ["MirrorPod", "Write the sidecar into the static Pod's own manifest: nobody can change its mirror."],
  [
    "OwnContainer",
    "Rename or remove the container flagd in the Pod's template, or its annotation openfeature.dev/enabled.",
  ],
  [
    "PortTaken",
    "Choose other ports in the FeatureFlagSource: a container of the Pod declares one of the sidecar's.",
  ],
  ["TooLarge", "Use fewer containers in the Pod, or fewer variables in what its annotation names."],
  [
    "NoSource",
    "Name a FeatureFlagSource in the annotation openfeature.dev/featureflagsource of the Pod's template.",
  ],
  ["UnknownSource", "Create what the annotation names, or correct the name, and then restart the workload."],
  [
    "NotShared",
    "Have the owner of the object annotate it with bunting.dev/readers, naming the Pod's namespace, and then restart the workload.",
  ],
  ["InvalidSource", "Correct the object as its conditions say, and then restart the workload."],
  [
    "RefusedByExtension",
    "Do as the condition Compiled of what the annotation names says, or ask the maintainer of the Extension, and then restart the workload.",
  ],
  [
    "NotExtended",
    "See how the Extension does (kubectl get extensions), and whether the condition Compiled of what the annotation names says more, and restart the workload when both are well.",
  ],
]);

/** The words that are known. */
export const knownReasons: readonly string[] = [...advices.keys()];

/** A sentence for each word, also for one of a newer operator. */
export function adviceForReason(reason: string): string {
  return (
    advices.get(reason) ??
    `The operator gives the reason ${reason}, which this bunting does not know: use the one of the operator's version.`
  );
}
