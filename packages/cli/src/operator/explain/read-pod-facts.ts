import {
  featureFlagSourceType,
  inProcessConfigurationType,
  podRequest,
  requestParts,
  type PodRequest,
} from "@bunting/featureflags/resources";
import type { ResourceType } from "@bunting/kube";
import { featureFlagType } from "@bunting/protocol";
import type { ClusterReader } from "../cluster-reader.js";
import { addressesIn, type NamedAddress } from "../object-address.js";
import { agentOf } from "../shown-pod.js";
import type { ExplainedPod, ObjectFacts, PodFacts } from "./pod-facts.js";
import { readPolicies, readWebhook } from "./read-admission.js";
import { readInjection } from "./read-injection.js";
import { sidecarFlags } from "./sidecar-flags.js";

const types = {
  FeatureFlag: featureFlagType,
  FeatureFlagSource: featureFlagSourceType,
  InProcessConfiguration: inProcessConfigurationType,
} as const satisfies Record<ObjectFacts["kind"], ResourceType>;

/** Asks the cluster for all that has to do with the flags of a Pod. */
export async function readPodFacts(found: ExplainedPod, reader: ClusterReader): Promise<PodFacts> {
  const { pod, address } = found;
  const { namespace } = address;
  const asked = podRequest(pod.metadata?.annotations ?? {});
  const injection = await readInjection(namespace, asked, reader);
  const entry = injection.kind === "found" ? injection.found.entry : undefined;
  const sidecar = agentOf(pod) ?? entry?.container;
  const named = namesOf(asked);
  const read = (of: ObjectFacts["kind"], addresses: readonly NamedAddress[]): Promise<ObjectFacts[]> =>
    Promise.all(
      addresses.map(async (one) => ({
        ...one,
        kind: of,
        answer: await reader.find({ type: types[of], ...one }),
      })),
    );
  const [objects, flags, policies, webhook] = await Promise.all([
    read(named.kind, addressesIn(named.text, namespace)),
    read("FeatureFlag", sidecar === undefined ? addressesIn(named.flags, namespace) : sidecarFlags(sidecar)),
    readPolicies(namespace, reader),
    readWebhook(namespace, reader),
  ]);
  return { ...found, asked, injection, named: objects, flags, policies, webhook };
}

/** The names in what a Pod asks for. A standing order may be of either kind; its flags are those of the sidecar. */
function namesOf(asked: PodRequest | undefined): {
  readonly kind: "FeatureFlagSource" | "InProcessConfiguration";
  readonly text: string;
  readonly flags: string;
} {
  if (asked?.list === "inProcess") return { kind: "InProcessConfiguration", text: asked.text, flags: "" };
  const { sources = "", flags = "" } = requestParts(asked?.text ?? "") ?? {};
  return { kind: "FeatureFlagSource", text: sources, flags };
}
