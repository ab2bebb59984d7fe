import { createHash } from "node:crypto";
import {
  inlineFlagsOf,
  inlineKinds,
  workloadOfInlineFlag,
  type InlineKind,
} from "@bunting/featureflags/resources";
import { controllerOf, type ClusterWatches, type KubeObject } from "@bunting/kube";
import { featureFlagType } from "@bunting/protocol";
import type { Runnable } from "@bunting/runtime";
import { inlineLabel } from "../../desired/inline-flag.js";
import { namedObject, type NamedObject } from "../named-object.js";

/** A workload with flags of its own, or of which the FeatureFlag is still there. */
export interface WorkloadKey {
  readonly namespace: string;
  readonly kind: InlineKind;
  readonly name: string;
}

/** Of a workload with flags of its own, or of the FeatureFlag of such flags, what says that there is something to do. */
interface SeenObject extends NamedObject {
  readonly digest: string;
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
      return watches.inform<SeenObject>(
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
    watches.inform<SeenObject>(
      { type: featureFlagType, labelSelector: inlineLabel, isMetadataOnly: true },
      {
        transform: seenFlag,
        handler: {
          changed: (key, now, before) => {
            // So does that of a FeatureFlag.
            if (now?.digest === before?.digest) return;
            const [namespace = "", name = ""] = key.split("/");
            const workload = workloadOfInlineFlag(name);
            if (workload !== undefined) onChange(workloadKey({ namespace, ...workload }));
          },
        },
      },
    ),
  ];
}

function seenWorkload(object: KubeObject): SeenObject {
  const { text = "" } = inlineFlagsOf(object.metadata.annotations) ?? {};
  const { uid = "", generation = 0 } = object.metadata;
  return seen(object, `${uid} ${generation} ${text}`);
}

function seenFlag(object: KubeObject): SeenObject {
  const { uid = "", generation = 0, labels, annotations } = object.metadata;
  return seen(object, JSON.stringify([uid, generation, labels, annotations, controllerOf(object)?.uid]));
}

function seen(object: KubeObject, text: string): SeenObject {
  return { ...namedObject(object), digest: createHash("sha256").update(text).digest("base64") };
}
