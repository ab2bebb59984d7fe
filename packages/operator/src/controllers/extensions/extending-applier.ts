import { isDeepStrictEqual } from "node:util";
import type { Extension } from "../../api/extension.js";
import type { ExtensionObject, ExtensionTarget } from "@bunting/extension";
import { KubeError, unlessNotFound, type RestClient } from "@bunting/kube";
import type { JsonValue } from "@bunting/protocol";
import type { DesiredObject } from "../../desired/desired-object.js";
import type { ExtensionPeers } from "../../extensions/extension-peers.js";
import { preCreate, type PreCreateObject } from "../../extensions/pre-create.js";
import { OperatorError } from "../../operator-error.js";
import type { Applied, Applier } from "../apply/applier.js";
import { fieldManager } from "../apply/managed-object.js";
import { resourceTypeOf } from "../apply/resource-types.js";
import type { ClusterExtensions } from "./cluster-extensions.js";

export interface ExtendingApplierOptions {
  readonly applier: Pick<Applier, "apply" | "remove">;
  readonly client: Pick<RestClient, "get" | "apply">;
  readonly extensions: Pick<ClusterExtensions, "askedFor" | "namespace">;
  readonly peers: ExtensionPeers;
  /** Called for each object with the names of the extensions that failed on it; an empty set if none failed or none was asked. */
  readonly onAsked: (namespace: string, failed: ReadonlySet<string>, object: string) => void;
}

/** What extensions are told besides the object itself. */
export interface ExtendedTarget {
  readonly target: Exclude<ExtensionTarget, "Sidecar" | "FeatureFlag">;
  /** Annotations of the object's origin, with the configuration of extensions. */
  readonly annotations: Readonly<Record<string, string>>;
}

/** Applies objects after the extensions have changed them. */
export class ExtendingApplier {
  readonly #options: ExtendingApplierOptions;
  readonly #target: ExtendedTarget;

  constructor(options: ExtendingApplierOptions, target: ExtendedTarget) {
    this.#options = options;
    this.#target = target;
  }

  /** @throws KubeError; OperatorError EXTENSION_REFUSED or EXTENSION_FAILED, which leave the object as it was */
  async apply(desired: DesiredObject, signal: AbortSignal): Promise<Applied> {
    const { applier, extensions, client, onAsked } = this.#options;
    const { name, namespace = "" } = desired.metadata;
    const { target, annotations } = this.#target;
    const asked = extensions.askedFor({ hook: "pre-create", target, namespace });
    if (asked.length === 0) {
      onAsked(namespace, new Set(), objectName(desired));
      return applier.apply(desired, signal);
    }
    const live = await unlessNotFound(client.get({ type: resourceTypeOf(desired), namespace, name }, signal));
    const question: PreCreateObject = {
      target,
      operation: live === undefined ? "CREATE" : "UPDATE",
      namespace: extensions.namespace(namespace),
      object: jsonOf(desired),
      annotations,
    };
    const made = await this.#made(asked, question, signal);
    try {
      return await applier.apply(made, signal);
    } catch (error) {
      if (!isInvalid(error) || isDeepStrictEqual(made, question.object)) throw error;
    }
    // The extensions are asked again, and a dry run checks each answer by itself: an extension whose answer is invalid counts as failed.
    const problemOf = (object: ExtensionObject): Promise<string | undefined> =>
      this.#problemOf(object, signal);
    return applier.apply(await this.#made(asked, { ...question, problemOf }, signal), signal);
  }

  /** @throws OperatorError EXTENSION_REFUSED or EXTENSION_FAILED */
  async #made(
    asked: readonly Extension[],
    question: PreCreateObject,
    signal: AbortSignal,
  ): Promise<ExtensionObject> {
    const { peers, onAsked } = this.#options;
    const outcome = await preCreate(asked, question, peers, signal);
    const object = objectName(question.object);
    onAsked(question.namespace.name, outcome.failed, object);
    if (outcome.kind === "refused")
      throw new OperatorError(
        "EXTENSION_REFUSED",
        `the extension ${outcome.extension} refuses the ${object}: ${outcome.reason}`,
      );
    if (outcome.kind === "withheld")
      throw new OperatorError(
        "EXTENSION_FAILED",
        `the extension ${outcome.extension}, without which the ${object} is not made or changed, has failed: ${outcome.reason}`,
      );
    return outcome.object;
  }

  async #problemOf(object: ExtensionObject, signal: AbortSignal): Promise<string | undefined> {
    const { name, namespace = "" } = (object as unknown as DesiredObject).metadata;
    const scope = { type: resourceTypeOf(object), namespace, name };
    try {
      await this.#options.client.apply(scope, object, { fieldManager, force: true, dryRun: true }, signal);
      return undefined;
    } catch (error) {
      if (isInvalid(error)) return `the API server refuses what it has made: ${(error as Error).message}`;
      throw error;
    }
  }

  remove(former: DesiredObject, signal: AbortSignal): Promise<boolean> {
    this.#options.onAsked(former.metadata.namespace ?? "", new Set(), objectName(former));
    return this.#options.applier.remove(former, signal);
  }
}

function isInvalid(error: unknown): boolean {
  return error instanceof KubeError && error.code === "INVALID";
}

function objectName({ kind, metadata: { namespace = "", name } }: DesiredObject): string {
  return `${kind} ${namespace}/${name}`;
}

/** A copy by way of JSON, which omits undefined members. */
function jsonOf(object: DesiredObject): ExtensionObject {
  return JSON.parse(JSON.stringify(object)) as JsonValue & ExtensionObject;
}
