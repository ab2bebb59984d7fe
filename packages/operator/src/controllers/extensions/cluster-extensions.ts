import type { ExtensionHook, ExtensionNamespace, ExtensionTarget } from "@bunting/extension";
import type { ClusterWatches, RunningInformer } from "@bunting/kube";
import { Signal, type Runnable } from "@bunting/runtime";
import { extensionType, type Extension } from "../../api/extension.js";
import { extensionOrder, type OrderedExtension } from "../../extensions/extension-order.js";
import { extensionVersion } from "../../extensions/extension-version.js";
import { isAskedFor } from "../../extensions/is-asked-for.js";
import type { ClusterNamespaces, NamespaceEvent } from "../injection/cluster-namespaces.js";
import { storedExtension, type StoredExtension } from "./stored-extension.js";
import { namespaceOf } from "./namespace-labels.js";

/** The Extensions in the order in which they are asked. */
export interface AskedOrder {
  readonly order: readonly Extension[];
  /** As `extensionOrder` has them. */
  readonly cycles: ReadonlyMap<string, readonly string[]>;
}

/** Whom an object concerns. */
export interface ExtensionScope {
  readonly hook: ExtensionHook;
  readonly target: ExtensionTarget;
  readonly namespace: string;
}

/** The Extensions that there are, their order, and the namespaces as they are told of them. Every replica watches them: webhooks ask, too. */
export class ClusterExtensions implements Runnable {
  readonly name = "extensions";
  readonly #extensions: RunningInformer<StoredExtension, never>;
  readonly #namespaces: ClusterNamespaces;
  readonly #changed = new Signal<string>();
  readonly #edited = new Signal<string>();
  /** Undefined until somebody asks for it. */
  #order: AskedOrder | undefined;

  /** @param namespaces run by others who read them, too */
  constructor(watches: Pick<ClusterWatches, "inform">, namespaces: ClusterNamespaces) {
    this.#namespaces = namespaces;
    this.#extensions = watches.inform<StoredExtension>(
      { type: extensionType },
      {
        transform: storedExtension,
        handler: { changed: (name, now, before) => this.#extensionChanged(name, now, before) },
      },
    );
    namespaces.listen((event) => this.#namespaceChanged(event));
  }

  /** Resolves when all have been read once. */
  get whenSynced(): Promise<void> {
    return Promise.all([
      this.#extensions.informer.whenSynced,
      this.#namespaces.watch.informer.whenSynced,
    ]).then(() => undefined);
  }

  get hasSynced(): boolean {
    return this.#extensions.informer.hasSynced && this.#namespaces.watch.informer.hasSynced;
  }

  get asked(): AskedOrder {
    this.#order ??= orderOf([...this.#extensions.informer.store.list()]);
    return this.#order;
  }

  extension(name: string): Extension | undefined {
    return this.#extensions.informer.store.get(name);
  }

  /** Those that are asked about such objects of a namespace, in their order. */
  askedFor({ hook, target, namespace }: ExtensionScope): readonly Extension[] {
    const { order } = this.asked;
    if (order.length === 0) return order;
    const objects = { hook, target, namespace: this.namespace(namespace) };
    return order.filter((extension) => isAskedFor(extension, objects));
  }

  /** A namespace as extensions are told of it. */
  namespace(name: string): ExtensionNamespace {
    return namespaceOf(name, this.#namespaces.get(name)?.told);
  }

  /** A namespace about whose objects of this kind an Extension is asked; undefined if there is none. */
  someNamespace(
    extension: Extension,
    objects: Pick<ExtensionScope, "hook" | "target">,
  ): ExtensionNamespace | undefined {
    for (const { metadata } of this.#namespaces.list()) {
      const namespace = this.namespace(metadata.name);
      if (isAskedFor(extension, { ...objects, namespace })) return namespace;
    }
    return undefined;
  }

  /** Calls back with each namespace whose objects may have to be made anew, until the returned function is called. */
  listen(listener: (namespace: string) => void): () => void {
    return this.#changed.listen(listener);
  }

  /** Calls back with the name of each Extension that was written or deleted, by us or others, until the returned function is called. */
  listenToExtensions(listener: (name: string) => void): () => void {
    return this.#edited.listen(listener);
  }

  /** Has everybody look at a namespace again. */
  lookAt(namespace: string): void {
    this.#changed.emit(namespace);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#extensions.run(signal);
  }

  #extensionChanged(name: string, now: Extension | undefined, before: Extension | undefined): void {
    const isSame =
      now !== undefined && before !== undefined && extensionVersion(now) === extensionVersion(before);
    if (!isSame) {
      this.#order = undefined;
      for (const { metadata } of this.#namespaces.list()) this.#changed.emit(metadata.name);
    }
    this.#edited.emit(name);
  }

  #namespaceChanged({ name, now, before }: NamespaceEvent): void {
    const [one, other] = [namespaceOf(name, now?.told), namespaceOf(name, before?.told)];
    if (JSON.stringify(one) !== JSON.stringify(other)) this.#changed.emit(name);
  }
}

function orderOf(extensions: readonly Extension[]): AskedOrder {
  const ordered = extensions.map((extension): OrderedExtension & { readonly extension: Extension } => {
    const { metadata, spec } = extension;
    const { before = [], after = [], categories = [], priority } = spec;
    const createdMs = Date.parse(metadata.creationTimestamp ?? "") || 0;
    return { name: metadata.name, createdMs, priority, before, after, categories, extension };
  });
  const { order, cycles } = extensionOrder(ordered);
  return { order: order.map(({ extension }) => extension), cycles };
}
