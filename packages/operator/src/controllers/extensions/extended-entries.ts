import { createHash } from "node:crypto";
import type { ExtensionNamespace, ExtensionOperation } from "@bunting/extension";
import { Signal, type Context, type Runnable } from "@bunting/runtime";
import type { Extension } from "../../api/extension.js";
import type { InjectionEntry } from "../../api/injection.js";
import { extendedEntry, sidecarObject } from "../../extensions/extended-entry.js";
import type { ExtensionPeers } from "../../extensions/extension-peers.js";
import { extensionVersion } from "../../extensions/extension-version.js";
import { preCreate, type PreCreateObject } from "../../extensions/pre-create.js";
import { Controller } from "../controller.js";
import type { ControllerMetrics } from "../controller-metrics.js";
import type { ClusterExtensions } from "./cluster-extensions.js";

/** An entry that extensions are asked about. */
export interface AskedEntry {
  /** The text of the annotation, with its list: equal ones are the same entry. */
  readonly key: string;
  readonly text: string;
  readonly entry: InjectionEntry;
  /** Of the FeatureFlagSources that it is of: configurations of extensions. */
  readonly annotations: Readonly<Record<string, string>>;
}

export interface AskedEntries {
  readonly namespace: string;
  readonly operation: ExtensionOperation;
  readonly entries: readonly AskedEntry[];
}

/** What extensions made of an entry. */
export type ExtendedOutcome =
  | { readonly kind: "entry"; readonly entry: InjectionEntry; readonly remarks: readonly string[] }
  /** Nothing yet: it came while they were asked about others. */
  | { readonly kind: "asked" }
  | { readonly kind: "refused" | "withheld"; readonly extension: string; readonly reason: string };

/** `asking`: `listen` tells when there is more to say. */
export type ExtendedAnswer =
  | { readonly kind: "plain" }
  | { readonly kind: "asking" }
  | { readonly kind: "extended"; readonly outcomes: ReadonlyMap<string, ExtendedOutcome> };

export interface ExtendedEntriesOptions {
  readonly extensions: Pick<ClusterExtensions, "askedFor" | "namespace">;
  readonly peers: ExtensionPeers;
  /** Hears which extensions have failed, by their names, after all entries of a namespace were asked about, or if there is nothing to ask. */
  readonly onAsked: (namespace: string, failed: ReadonlySet<string>) => void;
  readonly context: Context<ControllerMetrics>;
}

/** Namespaces whose extensions are asked at a time: a slow one delays others less than it is asked for. */
const concurrency = 4;
/** For all entries of a namespace together, in ms. What is left then is asked in the next round, and what was answered by then is not asked again. */
const roundMs = 60_000;

/** Until a namespace is asked about anew whose entries were edited while it was asked about: each time, its Injection is written. */
export const pauseMs = 1_000;

type Round = {
  /** A digest of the operation, the namespace and the extensions: answers with others are worth nothing. */
  readonly circumstances: string;
  /** A digest of these and the entries. */
  readonly question: string;
} & (
  | { readonly kind: "asking"; readonly asked: AskedEntries }
  | { readonly kind: "answered"; readonly outcomes: ReadonlyMap<string, ExtendedOutcome> }
);

/**
 * Asks extensions about the entries of Injections, beside those who compile them: while a namespace waits for its extensions, what Pods got before
 * stays, and other namespaces go on.
 */
export class ExtendedEntries implements Runnable {
  readonly name = "extended entries";
  readonly #options: ExtendedEntriesOptions;
  readonly #controller: Controller;
  readonly #rounds = new Map<string, Round>();
  readonly #answered = new Signal<string>();

  constructor(options: ExtendedEntriesOptions) {
    this.#options = options;
    this.#controller = new Controller({
      name: "extended-entries",
      reconcile: async (namespace, signal) => {
        await this.#ask(namespace, signal);
        return undefined;
      },
      concurrency,
      context: options.context,
    });
  }

  /** Calls back with each namespace about whose entries extensions have answered, until the returned function is called. */
  listen(listener: (namespace: string) => void): () => void {
    return this.#answered.listen(listener);
  }

  run(signal: AbortSignal): Promise<void> {
    this.#rounds.clear();
    return this.#controller.run(signal);
  }

  /**
   * What extensions say of these entries: the same until it is forgotten, or something else is asked. Of entries that were edited while extensions were asked,
   * it is what they said before, while they are asked anew: others may edit what they share with a namespace faster than extensions answer.
   */
  look(asked: AskedEntries): ExtendedAnswer {
    const { namespace } = asked;
    const extensions = this.#extensionsOf(namespace);
    if (extensions.length === 0 || asked.entries.length === 0) {
      this.#rounds.delete(namespace);
      this.#options.onAsked(namespace, new Set());
      return { kind: "plain" };
    }
    const told = this.#options.extensions.namespace(namespace);
    const circumstances = circumstancesOf(asked, extensions, told);
    const question = questionOf(asked, circumstances);
    const round = this.#rounds.get(namespace);
    const known = round?.circumstances === circumstances ? round : undefined;
    if (known?.kind === "answered" && known.question === question)
      return { kind: "extended", outcomes: known.outcomes };
    if (known?.kind === "asking") return { kind: "asking" };
    this.#rounds.set(namespace, { kind: "asking", circumstances, question, asked });
    if (known === undefined) {
      this.#controller.add(namespace);
      return { kind: "asking" };
    }
    this.#controller.after(namespace, pauseMs);
    const { outcomes } = known;
    return {
      kind: "extended",
      outcomes: new Map(asked.entries.map(({ key }) => [key, outcomes.get(key) ?? unanswered])),
    };
  }

  /** To be called when a namespace is gone. */
  forget(namespace: string): void {
    this.#rounds.delete(namespace);
  }

  /** To be called when what was answered is written, or is to be asked anew. What is asked just now is asked to the end. */
  forgetAnswers(namespace: string): void {
    if (this.#rounds.get(namespace)?.kind === "answered") this.#rounds.delete(namespace);
  }

  #extensionsOf(namespace: string): readonly Extension[] {
    return this.#options.extensions.askedFor({ hook: "pre-create", target: "Sidecar", namespace });
  }

  async #ask(namespace: string, signal: AbortSignal): Promise<void> {
    const round = this.#rounds.get(namespace);
    if (round?.kind !== "asking") return;
    const { clock } = this.#options.context;
    const extensions = this.#extensionsOf(namespace);
    const told = this.#options.extensions.namespace(namespace);
    const { asked, circumstances, question } = round;
    if (circumstancesOf(asked, extensions, told) !== circumstances) {
      // What came between may be gone again before somebody looks, and its answers are none to this question.
      this.#rounds.delete(namespace);
      this.#answered.emit(namespace);
      return;
    }
    const untilMs = clock.monotonicMs() + roundMs;
    const outcomes = new Map<string, ExtendedOutcome>();
    const failed = new Set<string>();
    for (const each of asked.entries) {
      const made =
        clock.monotonicMs() < untilMs
          ? await this.#askAbout(each, { ...asked, namespace: told }, extensions, signal)
          : late(extensions, each.entry);
      for (const name of made.failed) failed.add(name);
      outcomes.set(each.key, made.outcome);
    }
    // The circumstances may have changed meanwhile: then it is asked for anew.
    if (this.#rounds.get(namespace) === round) {
      this.#rounds.set(namespace, { kind: "answered", circumstances, question, outcomes });
      this.#options.onAsked(namespace, failed);
    }
    this.#answered.emit(namespace);
  }

  async #askAbout(
    { text, entry, annotations }: AskedEntry,
    { namespace, operation }: Pick<PreCreateObject, "namespace" | "operation">,
    extensions: readonly Extension[],
    signal: AbortSignal,
  ): Promise<AskedOutcome> {
    const { failed, ...outcome } = await preCreate(
      extensions,
      {
        target: "Sidecar",
        operation,
        namespace,
        object: sidecarObject(text, namespace.name, entry),
        annotations,
        problemOf: (object) => {
          const made = extendedEntry(entry, object);
          return made.kind === "unusable" ? made.reason : undefined;
        },
      },
      this.#options.peers,
      signal,
    );
    if (outcome.kind !== "made") return { outcome, failed };
    const made = extendedEntry(entry, outcome.object);
    // Each answer was looked at when it came.
    if (made.kind === "unusable")
      throw new Error(`what extensions made of ${text} can't be used: ${made.reason}`);
    return { outcome: made, failed };
  }
}

interface AskedOutcome {
  readonly outcome: ExtendedOutcome;
  /** The names of extensions. */
  readonly failed: ReadonlySet<string>;
}

const unanswered: ExtendedOutcome = { kind: "asked" };

function circumstancesOf(
  { operation }: Pick<AskedEntries, "operation">,
  extensions: readonly Extension[],
  namespace: ExtensionNamespace,
): string {
  return digestOf([operation, namespace, extensions.map(extensionVersion)]);
}

function questionOf({ entries }: AskedEntries, circumstances: string): string {
  return digestOf([
    circumstances,
    entries.map(({ key, entry, annotations }) => [key, entry.digest, annotations]),
  ]);
}

function digestOf(value: object): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}

/** The outcome of an entry for which there was no time. */
function late(extensions: readonly Extension[], entry: InjectionEntry): AskedOutcome {
  const needed = extensions.find(({ spec }) => spec.failurePolicy === "Fail");
  const reason = `the extensions of the namespace took more than ${roundMs / 1_000} s`;
  const outcome: ExtendedOutcome =
    needed === undefined
      ? { kind: "entry", entry, remarks: [] }
      : { kind: "withheld", extension: needed.metadata.name, reason };
  return { outcome, failed: new Set(extensions.map(({ metadata }) => metadata.name)) };
}
