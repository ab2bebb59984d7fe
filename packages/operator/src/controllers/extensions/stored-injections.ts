import type { ClusterWatches, KubeObject, RunningInformer } from "@bunting/kube";
import type { Runnable } from "@bunting/runtime";
import {
  extendedLabel,
  injectionNames,
  injectionType,
  type InjectionEntry,
  type InjectionSpec,
} from "../../api/injection.js";
import type { InjectionRequest } from "../../pod/injection-request.js";

type List = InjectionRequest["list"];

/** As a store has it. */
interface StoredInjection extends KubeObject {
  /** By list and text, the JSON of entries: as objects, those of hundreds of namespaces would take megabytes more, and few are ever asked for. */
  readonly entries: Readonly<Record<List, Readonly<Record<string, string>>>>;
  readonly refused: NonNullable<InjectionSpec["refused"]> | undefined;
}

/** What is stored of a text. */
export type StoredText =
  | { readonly kind: "entry"; readonly entry: InjectionEntry }
  /** An extension refuses it. */
  | { readonly kind: "refused"; readonly message: string };

/** Injections about whose entries extensions were asked, on each replica: what a webhook would compile by itself is not what they have made of it. */
export class StoredInjections implements Runnable {
  readonly name = "extended injections";
  readonly #informer: RunningInformer<StoredInjection, never>;

  constructor(watches: Pick<ClusterWatches, "inform">) {
    this.#informer = watches.inform<StoredInjection>(
      { type: injectionType, labelSelector: `${extendedLabel}=true` },
      { transform: storedInjection, handler: { changed: () => undefined } },
    );
  }

  get hasSynced(): boolean {
    return this.#informer.informer.hasSynced;
  }

  /** Undefined if it is not compiled. */
  find(namespace: string, request: InjectionRequest): StoredText | undefined {
    const { store } = this.#informer.informer;
    return injectionNames
      .map((name) => textIn(store.get(`${namespace}/${name}`), request))
      .find((found) => found !== undefined);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#informer.run(signal);
  }
}

export function textIn(
  stored: StoredInjection | undefined,
  { list, text }: InjectionRequest,
): StoredText | undefined {
  const { [list]: refused = {} } = stored?.refused ?? {};
  const message = Object.hasOwn(refused, text) ? refused[text] : undefined;
  if (message !== undefined) return { kind: "refused", message };
  const { [list]: entries = {} } = stored?.entries ?? {};
  const json = Object.hasOwn(entries, text) ? entries[text] : undefined;
  return json === undefined ? undefined : { kind: "entry", entry: JSON.parse(json) as InjectionEntry };
}

export function storedInjection({ metadata, ...object }: KubeObject): StoredInjection {
  const { name, namespace = "", uid = "", resourceVersion = "" } = metadata;
  const { spec } = object as { readonly spec?: InjectionSpec };
  const jsons = (list: List): Readonly<Record<string, string>> =>
    Object.fromEntries(
      Object.entries(spec?.[list] ?? {}).map(([text, entry]) => [text, JSON.stringify(entry)]),
    );
  return {
    metadata: { name, namespace, uid, resourceVersion },
    entries: { sources: jsons("sources"), inProcess: jsons("inProcess") },
    refused: spec?.refused,
  };
}
