import { featureFlagSourceType, inProcessConfigurationType } from "@bunting/featureflags/resources";
import type { KubeObject, ResourceType } from "@bunting/kube";
import { featureFlagType } from "@bunting/protocol";
import type { ClusterAnswer, ClusterReader } from "../cluster-reader.js";
import { addressesIn, type NamedAddress } from "../object-address.js";
import { clusterTypes, objectNames } from "../operator-names.js";
import { askedText, sidecarOf, type AskedText, type ShownContainer } from "../shown-pod.js";
import type { InjectionFacts, ObjectFacts, PodFacts } from "./pod-facts.js";
import { sidecarFlags } from "./sidecar-flags.js";

const types = {
  FeatureFlag: featureFlagType,
  FeatureFlagSource: featureFlagSourceType,
  InProcessConfiguration: inProcessConfigurationType,
} as const satisfies Record<ObjectFacts["kind"], ResourceType>;

/** Asks the cluster for all that has to do with the flags of a Pod. */
export async function readPodFacts(
  found: Pick<PodFacts, "address" | "pod" | "isTemplate">,
  reader: ClusterReader,
): Promise<PodFacts> {
  const { pod, address } = found;
  const { namespace } = address;
  const asked = askedText(pod.metadata?.annotations ?? {});
  const injection = await readInjection(namespace, asked, reader);
  const entry = injection.kind === "found" ? injection.found.entry : undefined;
  const sidecar = sidecarOf(pod) ?? entry?.container;
  const kind = asked?.list === "inProcess" ? "InProcessConfiguration" : "FeatureFlagSource";
  const read = (of: ObjectFacts["kind"], addresses: readonly NamedAddress[]): Promise<ObjectFacts[]> =>
    Promise.all(
      addresses.map(async (one) => ({
        ...one,
        kind: of,
        answer: await reader.find({ type: types[of], ...one }),
      })),
    );
  const [named, flags, policies, webhook] = await Promise.all([
    read(kind, addressesIn(asked?.text ?? "", namespace)),
    read("FeatureFlag", sidecar === undefined ? [] : sidecarFlags(sidecar)),
    readPolicies(reader),
    reader.find({ type: clusterTypes.mutatingWebhook, name: objectNames.mutatingWebhook }),
  ]);
  return { ...found, asked, injection, named, flags, policies, webhook };
}

async function readInjection(
  namespace: string,
  asked: AskedText | undefined,
  reader: ClusterReader,
): Promise<ClusterAnswer<InjectionFacts>> {
  const answer = await reader.find({ type: clusterTypes.injection, namespace, name: objectNames.injection });
  if (answer.kind !== "found") return answer;
  const entries = entriesOf(answer.found, asked?.list ?? "sources");
  const entry = asked !== undefined && Object.hasOwn(entries, asked.text) ? entries[asked.text] : undefined;
  return { kind: "found", found: { texts: Object.keys(entries), entry } };
}

interface CompiledEntry {
  readonly digest: string;
  readonly container?: ShownContainer;
}

type CompiledEntries = Readonly<Record<string, CompiledEntry>>;

function entriesOf({ spec }: KubeObject, list: AskedText["list"]): CompiledEntries {
  const compiled = spec as Readonly<Partial<Record<AskedText["list"], CompiledEntries>>> | undefined;
  return compiled?.[list] ?? {};
}

/** Newer API servers have a newer version of policies, and some have none. */
async function readPolicies(reader: ClusterReader): Promise<ClusterAnswer<readonly string[]>> {
  for (const type of clusterTypes.mutatingPolicies) {
    const answer = await reader.findAll({ type });
    if (answer.kind === "unreadable") return answer;
    if (answer.kind === "missing") continue;
    const names = answer.found.map(({ metadata }) => metadata.name);
    return { kind: "found", found: names.filter((name) => name.startsWith(objectNames.policy)) };
  }
  return { kind: "missing" };
}
