import type { ClusterWatches, KubeObject, RestClient, RunningInformer } from "@bunting/kube";
import { aborted, isAborted, type Context, type Runnable, type WorkResult } from "@bunting/runtime";
import { extendedLabel, injectionType, type Injection } from "../../api/injection.js";
import { accessNeeds, type AccessNeeds } from "../../desired/access.js";
import {
  compileInjection,
  type CompiledInjection,
  type InjectionTexts,
  type TextOutcome,
} from "../../desired/injection.js";
import type { InjectionRequest } from "../../pod/injection-request.js";
import type { SourcePlan } from "../../sources/source-plan.js";
import type { PlainInjection } from "../extensions/extended-injection.js";
import { Controller } from "../controller.js";
import type { ControllerMetrics } from "../controller-metrics.js";
import type { ClusterSources } from "./cluster-sources.js";
import { InjectionWriter } from "./injection-writer.js";
import { isPlainName, textsOf } from "./namespace-texts.js";
import { offeredAnnotations, offeredTexts } from "./offered-texts.js";
import type { SeenTexts, TextList } from "./seen-texts.js";
import { storedMetadata } from "./stored-objects.js";
import { isRefusal, unwrittenOutcome } from "./unwritten-outcome.js";

export interface InjectionControllerOptions {
  readonly cluster: {
    readonly client: Pick<RestClient, "get" | "apply" | "delete">;
    readonly watches: ClusterWatches;
  };
  readonly sources: ClusterSources;
  readonly seen: SeenTexts;
  /** Absent: no extension is asked. */
  readonly extensions?: InjectionExtensions | undefined;
  readonly context: Context<ControllerMetrics>;
  readonly news: CompileNews;
}

/** What extensions make of Injections. */
export interface InjectionExtensions {
  /** Resolves when it is known which there are. */
  readonly whenSynced: Promise<void>;
  /** Calls back with each namespace whose Injection may have to change, until the returned function is called; `hasAnswered` where `of` was asked before. */
  listen(listener: (namespace: string, hasAnswered: boolean) => void): () => void;
  /** True if some are asked about what Pods of the namespace get. */
  areAsked(namespace: string): boolean;
  /** Resolves to undefined while they are asked. */
  of(plain: PlainInjection): Promise<CompiledInjection | undefined>;
  /** What they made is written, or the namespace is gone. */
  forget(namespace: string, why: "written" | "gone"): void;
}

/** Hears what was compiled. */
export interface CompileNews {
  /** A text was compiled that names one object of the namespace. */
  compiled(list: TextList, key: string, outcome: TextOutcome): void;
  /** Whether sidecars of the namespace are to ask the proxy. */
  usesProxy(namespace: string, isUsing: boolean): void;
  /** What else has to be there for the sidecars of the namespace. */
  needs?(namespace: string, needs: AccessNeeds): void;
  /** All namespaces that there were at the start have been compiled. */
  complete(): void;
}

/** Pause after a namespace with something to compile was compiled, and so between writes: it may have many sources, and edit them all the time. */
const pauseMs = 1_000;
/** Namespaces that are compiled at a time. */
const concurrency = 4;
/** Turn, on the work queue, of Injections that are to be put back. No namespace has this name. */
const ofInjections = "";
/** When this process began to lead: the API server's copies of objects are pruned by what it knew of their type when it read them. */
const touchedAnnotation = "bunting.dev/touched";

/**
 * Keeps, in each namespace, the Injection that admission reads. A namespace without anything to inject has none.
 *
 * Each Injection is written once after the start, even if it is as it should be.
 */
export class InjectionController implements Runnable {
  readonly name = "injection controller";
  readonly #options: InjectionControllerOptions;
  readonly #controller: Controller;
  readonly #writer: InjectionWriter;
  readonly #compiledMs = new Map<string, number>();
  /** Namespaces of the start that are not compiled yet; undefined until all are known. */
  #awaited: Set<string> | undefined;
  #injections: RunningInformer<KubeObject, never> | undefined;
  #touched = "";

  constructor(options: InjectionControllerOptions) {
    this.#options = options;
    this.#writer = new InjectionWriter({
      client: options.cluster.client,
      live: (key) => this.#injections?.informer.store.get(key),
    });
    this.#controller = new Controller({
      name: "injection",
      reconcile: (namespace, signal) => this.#reconcile(namespace, signal),
      concurrency,
      context: options.context,
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { sources, seen, extensions, cluster, context } = this.#options;
    // What this process has compiled when it led before, and others have removed since.
    const before = this.#writer.namespaces;
    for (const namespace of before) this.#writer.forget(namespace);
    this.#compiledMs.clear();
    this.#touched = new Date(context.clock.now()).toISOString();
    const injections = cluster.watches.inform(
      { type: injectionType, isMetadataOnly: true },
      {
        transform: storedMetadata,
        handler: { changed: (key, object) => this.#injectionChanged(key, object) },
      },
    );
    this.#injections = injections;
    const stops = [
      sources.listen((namespace, by) => this.#controller.add(namespace, by)),
      seen.listen((namespace) => this.#controller.add(namespace)),
      extensions?.listen((namespace, hasAnswered) => {
        // What was compiled a moment ago waits for this: it was in its turn.
        if (hasAnswered) this.#compiledMs.delete(namespace);
        this.#controller.add(namespace);
      }),
    ];
    try {
      await Promise.all([injections.run(signal), this.#work(injections, before, signal)]);
    } finally {
      for (const stop of stops) stop?.();
      this.#awaited = undefined;
    }
  }

  #injectionChanged(key: string, object: KubeObject | undefined): void {
    const [namespace = ""] = key.split("/");
    if (object !== undefined && this.#writer.isWritten(object)) return;
    // It may be our own write, which others have caused.
    this.#controller.add(namespace, ofInjections);
  }

  async #work(
    { informer }: RunningInformer<KubeObject, never>,
    before: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const { sources, extensions } = this.#options;
    const synced = [sources.whenSynced, extensions?.whenSynced ?? Promise.resolve(), informer.whenSynced];
    await Promise.race([Promise.all(synced), aborted(signal)]);
    if (isAborted(signal)) return;
    const held = Array.from(informer.store.list(), ({ metadata }) => metadata.namespace ?? "");
    const awaited = new Set([...sources.namespaces(), ...held, ...before]);
    this.#awaited = awaited;
    for (const namespace of awaited) this.#controller.add(namespace);
    this.#finished("");
    await this.#controller.run(signal);
  }

  async #reconcile(namespace: string, signal: AbortSignal): Promise<WorkResult | undefined> {
    const { sources, seen, extensions, news, context } = this.#options;
    if (!sources.isOpen(namespace)) {
      this.#writer.forget(namespace);
      this.#compiledMs.delete(namespace);
      seen.forget(namespace);
      extensions?.forget(namespace, "gone");
      sources.beginInputs(namespace, "injection");
      news.usesProxy(namespace, false);
      news.needs?.(namespace, accessNeeds([]));
      this.#finished(namespace);
      return undefined;
    }
    if (!this.#writer.hasWritten(namespace)) await this.#recall(namespace, signal);
    const nowMs = context.clock.monotonicMs();
    const sinceMs = nowMs - (this.#compiledMs.get(namespace) ?? -Infinity);
    if (sinceMs < pauseMs) return { requeueAfterMs: pauseMs - sinceMs, isPutOff: true };
    const texts = this.#texts(namespace);
    // The first object of a namespace is not kept waiting because there was none a moment ago.
    if (texts.sources.length + texts.inProcess.length > 0) this.#compiledMs.set(namespace, nowMs);
    else this.#compiledMs.delete(namespace);
    sources.beginInputs(namespace, "injection");
    const compiled = await this.#compile(namespace, texts, signal);
    if (compiled === undefined) return { isPutOff: true };
    try {
      await this.#writer.write(namespace, storedForms(compiled, texts, this.#touched), signal);
      this.#tell(namespace, compiled);
    } catch (error) {
      this.#tell(namespace, compiled, await this.#unwritten(namespace, error, signal));
      throw error;
    } finally {
      // Others wait for all namespaces, and a quota of one of them may refuse its Injection for ever.
      this.#finished(namespace);
    }
    extensions?.forget(namespace, "written");
    return undefined;
  }

  /** Undefined while extensions are asked. */
  async #compile(
    namespace: string,
    texts: InjectionTexts,
    signal: AbortSignal,
  ): Promise<CompiledInjection | undefined> {
    const { sources, extensions } = this.#options;
    const inputs = sources.inputs(namespace, "injection");
    const isExtended = extensions?.areAsked(namespace) ?? false;
    const compiled = compileInjection(inputs, texts, { isExtended });
    if (extensions === undefined) return compiled;
    const stored = this.#writer.isStored(namespace) ? () => this.#writer.read(namespace, signal) : undefined;
    const extended = await extensions.of({ compiled, inputs, texts, stored });
    if (extended !== undefined) return extended;
    // Sidecars of before need these all the same, and others wait for all namespaces.
    this.#tellNeeds(namespace, compiled);
    this.#finished(namespace);
    return undefined;
  }

  /** Texts that were seen on Pods by an earlier leader are in the Injection only. */
  async #recall(namespace: string, signal: AbortSignal): Promise<void> {
    const { seen } = this.#options;
    for (const { metadata, spec } of await this.#writer.read(namespace, signal)) {
      const offered = offeredTexts(metadata.annotations);
      for (const list of ["sources", "inProcess"] as const)
        for (const text of Object.keys(spec?.[list] ?? {}))
          if (!isPlainName(text) && !offered[list].has(text)) seen.add(namespace, list, text);
    }
  }

  #texts(namespace: string): InjectionTexts {
    const { sources, seen } = this.#options;
    const [ofSources, ofInProcess] = (["sources", "inProcess"] as const).map((list) =>
      sources.origins(namespace, list, seen.of(namespace, list)),
    );
    const none = { own: [], shared: [], seen: [] };
    return textsOf(ofSources ?? none, ofInProcess ?? none);
  }

  /** What became of texts whose Injection could not be written. */
  async #unwritten(namespace: string, error: unknown, signal: AbortSignal): Promise<Told> {
    if (!isRefusal(error)) return asCompiled;
    const stored = await this.#writer.read(namespace, signal);
    return (outcome, request) => unwrittenOutcome(outcome, request, { stored, error });
  }

  #tell(namespace: string, compiled: CompiledInjection, toldOf = asCompiled): void {
    const { sources, inProcess } = compiled;
    const { news } = this.#options;
    for (const [list, outcomes] of [
      ["sources", sources],
      ["inProcess", inProcess],
    ] as const)
      for (const [text, outcome] of [...outcomes].filter(([, { isAsked }]) => isAsked !== true))
        if (isPlainName(text)) news.compiled(list, `${namespace}/${text}`, toldOf(outcome, { list, text }));
        else this.#options.seen.compiled(namespace, list, text, outcome.entry !== undefined);
    this.#tellNeeds(namespace, compiled);
  }

  #tellNeeds(namespace: string, { sources }: CompiledInjection): void {
    const { news } = this.#options;
    const plansOf = (texts: readonly (readonly [text: string, outcome: TextOutcome])[]): SourcePlan[] =>
      texts.flatMap(([, { plan }]) => (plan === undefined ? [] : [plan]));
    news.usesProxy(
      namespace,
      plansOf([...sources]).some((plan) => plan.sources.some(({ way }) => way === "proxy")),
    );
    // Nothing is made in a namespace because somebody else shares something with it.
    const seen = new Set(this.#options.seen.of(namespace, "sources"));
    const asked = [...sources].filter(([text]) => isPlainName(text) || seen.has(text));
    news.needs?.(namespace, accessNeeds(plansOf(asked)));
  }

  /** A namespace of the start is done; with the last of them, all are. */
  #finished(namespace: string): void {
    if (this.#awaited === undefined) return;
    this.#awaited.delete(namespace);
    if (this.#awaited.size > 0) return;
    this.#awaited = undefined;
    this.#options.news.complete();
  }
}

/** What is told of a text. */
type Told = (outcome: TextOutcome, request: InjectionRequest) => TextOutcome;

const asCompiled: Told = (outcome) => outcome;

function storedForms(
  { injection, further, isExtended = false }: CompiledInjection,
  texts: InjectionTexts,
  touched: string,
): readonly Injection[] {
  if (injection === undefined) return [];
  const labels = isExtended ? { labels: { [extendedLabel]: "true" } } : {};
  return [injection, ...further].map((each) => {
    const annotations = { [touchedAnnotation]: touched, ...offeredAnnotations(each, texts) };
    return { ...each, metadata: { ...each.metadata, ...labels, annotations } };
  });
}
