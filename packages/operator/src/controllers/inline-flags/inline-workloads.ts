import { createHash } from "node:crypto";
import { inlineFlagName, inlineFlagsOf, inlineKinds, type InlineKind } from "@bunting/featureflags/resources";
import { controllerOf, type ClusterWatches, type KubeObject, type ObjectMeta } from "@bunting/kube";
import { featureFlagType } from "@bunting/protocol";
import type { Runnable } from "@bunting/runtime";
import { inlineLabel } from "../../desired/inline-flag.js";

/** A workload with flags of its own, or of which the FeatureFlag is still there. */
export interface WorkloadKey {
  readonly namespace: string;
  readonly kind: InlineKind;
  readonly name: string;
}

/** Of a workload with flags of its own, what says that there is something to do. */
interface SeenWorkload extends KubeObject {
  readonly metadata: ObjectMeta & { readonly namespace: string };
  readonly digest: string;
}

/** Of a FeatureFlag that is made of a workload's flags, the key of that workload. */
interface MadeFlag extends KubeObject {
  readonly workload: string | undefined;
}

export function workloadKey({ namespace, kind, name }: WorkloadKey): string {
  return `${namespace}/${kind}/${name}`;
}

export function parseWorkloadKey(key: string): WorkloadKey {
  const [namespace = "", kind = "", ...name] = key.split("/");
  return { namespace, kind: kind as InlineKind, name: name.join("/") };
}

/**
 * Watches the metadata of workloads, of which those with flags of their own are kept, by a digest, and FeatureFlags that were made of such flags, so
 * that an edit or a deletion by others is seen.
 *
 * @param onChange called with each key of which the flags, the template, or the FeatureFlag have changed
 */
export function watchInlineWorkloads(
  watches: Pick<ClusterWatches, "inform">,
  onChange: (key: string) => void,
): readonly Runnable[] {
  const kinds = Object.keys(inlineKinds) as readonly InlineKind[];
  return [
    ...kinds.map((kind) => {
      const { group, version, plural } = inlineKinds[kind];
      return watches.inform<SeenWorkload>(
        { type: { group, version, plural }, isMetadataOnly: true },
        {
          keeps: ({ metadata }) => inlineFlagsOf(metadata.annotations) !== undefined,
          transform: seenWorkload,
          handler: {
            changed: (key, now, before) => {
              // The status of a workload changes all the time.
              if (now?.digest === before?.digest) return;
              const [namespace = "", name = ""] = key.split("/");
              onChange(workloadKey({ namespace, kind, name }));
            },
          },
        },
      );
    }),
    watches.inform<MadeFlag>(
      { type: featureFlagType, labelSelector: inlineLabel, isMetadataOnly: true },
      {
        transform: (object) => ({ metadata: namesOf(object), workload: workloadOf(object) }),
        handler: {
          changed: (_key, now, before) => {
            const { workload } = now ?? before ?? {};
            if (workload !== undefined) onChange(workload);
          },
        },
      },
    ),
  ];
}

function seenWorkload(object: KubeObject): SeenWorkload {
  const { text = "" } = inlineFlagsOf(object.metadata.annotations) ?? {};
  const { uid = "", generation = 0 } = object.metadata;
  const digest = createHash("sha256").update(`${uid} ${generation} ${text}`).digest("base64");
  return { metadata: namesOf(object), digest };
}

/**
 * Undefined for a FeatureFlag that is not called as its owner's. Whoever may write FeatureFlags can give them the label, and an owner of any name, of which an
 * API server checks neither the length nor the letters.
 */
function workloadOf(object: KubeObject): string | undefined {
  const { kind = "", name: ownerName = "" } = controllerOf(object) ?? {};
  const { namespace, name } = namesOf(object);
  if (!isInlineKind(kind) || inlineFlagName(kind, ownerName) !== name) return undefined;
  return workloadKey({ namespace, kind, name: ownerName });
}

function isInlineKind(kind: string): kind is InlineKind {
  return Object.hasOwn(inlineKinds, kind);
}

function namesOf({ metadata }: KubeObject): ObjectMeta & { readonly namespace: string } {
  const { namespace = "", name, uid = "", resourceVersion = "" } = metadata;
  return { namespace, name, uid, resourceVersion };
}
