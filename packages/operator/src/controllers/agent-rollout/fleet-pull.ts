import type { KubeObject } from "@bunting/kube";
import { cut, singleLine } from "@bunting/runtime";
import { imagePullLabel } from "../../api/names.js";
import type { PodManifest } from "../../api/pod-manifest.js";
import type { FleetPull } from "../../upgrade/fleet.js";

interface LivePod extends PodManifest {
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly containerStatuses?: readonly {
      readonly state?: {
        readonly waiting?: { readonly reason?: string; readonly message?: string };
        readonly running?: object;
        readonly terminated?: {
          readonly exitCode?: number;
          readonly reason?: string;
          readonly message?: string;
        };
      };
    }[];
  };
}

const maxTroubleCharacters = 300;

/** The reason why an image is not pulled, as a status and an event repeat it. */
export function troubleText(reason: string): string {
  return cut(singleLine(reason), maxTroubleCharacters);
}

/**
 * How far a Pod is by which a node pulls an image; undefined for every other Pod, and once it is deleted. An image that is there and does not show
 * its help, because it is of another architecture or no agent, would stop sidecars as one that is not there.
 */
export function fleetPull(object: KubeObject): FleetPull | undefined {
  const { metadata, spec, status = {} } = object as KubeObject & LivePod;
  const rollout = metadata.labels?.[imagePullLabel];
  const [container] = spec.containers;
  const { nodeName = "" } = spec as { readonly nodeName?: string };
  const isEnding = metadata["deletionTimestamp"] !== undefined;
  if (rollout === undefined || isEnding || container?.image === undefined) return undefined;
  const created: unknown = metadata["creationTimestamp"];
  const { waiting, running, terminated } = status.containerStatuses?.[0]?.state ?? {};
  const isPulled = running !== undefined || terminated?.exitCode === 0;
  const hasFailed = terminated !== undefined || status.phase === "Failed";
  const state = isPulled ? "pulled" : hasFailed ? "failed" : "pulling";
  const trouble =
    state === "failed" ? (terminated ?? status) : isTrouble(waiting?.reason) ? waiting : undefined;
  return {
    ...{ name: metadata.name, rollout, node: nodeName, image: container.image },
    createdMs: typeof created === "string" ? Date.parse(created) : 0,
    state,
    ...(trouble === undefined || state === "pulled" ? {} : { trouble: sentenceOf(trouble) }),
  };
}

/** While it is pulled, a container waits as well. */
function isTrouble(reason: string | undefined): boolean {
  return reason !== undefined && reason !== "ContainerCreating" && reason !== "PodInitializing";
}

interface Told {
  readonly exitCode?: number;
  readonly reason?: string;
  readonly message?: string;
}

function sentenceOf({ exitCode, reason = "", message = "" }: Told): string {
  const ended = exitCode === undefined ? "" : `its help ended with exit code ${exitCode}`;
  return troubleText([ended, reason, message].filter((each) => each !== "").join(": "));
}
