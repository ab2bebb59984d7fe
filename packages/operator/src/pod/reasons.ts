/** Why a Pod that asks for flags does not get what it asks for. Warnings, events, metrics and the annotation of the Pod use the same word. */
export type NotInjectedReason = keyof typeof notInjectedReasons;

/** A sentence for the owner of the Pod for each reason: what is so, and what can be done. */
export const notInjectedReasons = Object.freeze({
  HostNetwork:
    "the Pod uses the network of its node, where the ports of a sidecar would be open to others: set hostNetwork to false, use an InProcessConfiguration, or have the operator inject such Pods (--host-network-pods=inject)",
  Windows:
    "the sidecar runs on Linux only, and the Pod asks for Windows: use an InProcessConfiguration in place of a FeatureFlagSource",
  MirrorPod: "the Pod mirrors a static Pod of a node, which cannot be changed: give the static Pod a sidecar",
  OwnContainer:
    "the Pod has a container named flagd already: remove it, or remove the annotation openfeature.dev/enabled",
  PortTaken:
    "a container declares a port that the sidecar listens on: choose other ports in the FeatureFlagSource",
  TooLarge:
    "the Pod could not be stored with what each of its containers would get: use fewer containers, or fewer variables in what it names",
  NoSource:
    "the Pod has none of the annotations openfeature.dev/featureflagsource, openfeature.dev/featureflag and openfeature.dev/inprocessconfiguration",
  UnknownSource: "the Pod names a FeatureFlagSource or an InProcessConfiguration that does not exist",
  NotShared:
    "the Pod names an object of another namespace that is not shared with this one: its annotation bunting.dev/readers must name this namespace",
  InvalidSource: "the FeatureFlagSource or InProcessConfiguration is not accepted: its conditions say why",
  RefusedByExtension:
    "an extension of the cluster refuses what the Pod would get: the conditions of what it names say why",
  NotExtended:
    "an extension without which nothing is made has not answered about what the Pod would get: the status of the Extension and the conditions of what the Pod names say why",
} as const satisfies Readonly<Record<string, string>>);
