import type { KubeObject } from "@bunting/kube";
import type { ClusterAnswer } from "../cluster-reader.js";
import type { NamedAddress } from "../object-address.js";
import type { PodRequest } from "@bunting/featureflags/resources";
import type { SidecarAccount } from "../ask-sidecar.js";
import type { ShownContainer, ShownPod } from "../shown-pod.js";

export interface ExplainedPod {
  readonly address: NamedAddress;
  /** The Pod; of a Deployment without Pods its template. */
  readonly pod: ShownPod;
  readonly isTemplate: boolean;
  /** Annotations of its Deployment itself, which no operator reads. */
  readonly ofDeployment?: Readonly<Record<string, string>>;
}

/** What a cluster knows about a Pod and its flags: all that an explanation is made from. */
export interface PodFacts extends ExplainedPod {
  readonly asked: PodRequest | undefined;
  readonly injection: ClusterAnswer<InjectionFacts>;
  /** The objects that the annotation names. */
  readonly named: readonly ObjectFacts[];
  /** The FeatureFlags that the sidecar reads, or would read. */
  readonly flags: readonly ObjectFacts[];
  /** Names of policies that inject. */
  readonly policies: ClusterAnswer<readonly string[]>;
  readonly webhook: ClusterAnswer<KubeObject>;
  /** Of a sidecar of ours that runs. */
  readonly account?: SidecarAccount;
}

/** The entry that is compiled for the text of a Pod's annotation, or why there is none. */
export interface InjectionFacts {
  /** All texts with an entry. */
  readonly texts: readonly string[];
  readonly entry: { readonly digest: string; readonly container?: ShownContainer } | undefined;
  /** Why an extension refuses the text. */
  readonly refused: string | undefined;
}

export interface ObjectFacts extends NamedAddress {
  readonly kind: "FeatureFlag" | "FeatureFlagSource" | "InProcessConfiguration";
  readonly answer: ClusterAnswer<KubeObject>;
}
