import { AddressGuard, ownAddresses } from "@bunting/outbound";
import {
  documentHeapBytes,
  emptiedBy,
  readDocument,
  withRefusedFlags,
  type FlagDocument,
  type JsonValue,
} from "@bunting/protocol";
import {
  RemoteFetch,
  remoteFlags,
  remoteKinds,
  remoteView,
  type RemoteEvent,
  type RemoteFailure,
  type RemoteState,
} from "@bunting/remote";
import { cut, HeapRoom, RateLimitedLog } from "@bunting/runtime";
import { FileSource } from "../file-source.js";
import type { SyncSourceParts } from "../on-demand-source.js";
import type { RemoteSourceConfig } from "../source-config.js";
import type { DeliveryResult, RemoteCopies, SourceRemote } from "../sync-source.js";
import { readCredentialFiles } from "./credential-files.js";
import { MergedSides } from "./merged-sides.js";

/** Time for one whole answer. */
const timeoutMs = 30_000;
/** Time that a remote has to say something before the file's own flags are served without it: flags are not to come a moment after the start. */
const firstAnswerMs = 1_000;
/** Log lines of each kind: a remote can answer as often as it likes. */
const linesPerMinute = 6;

/** What keeps a side, or both together, from being served in the newest version. `refused`: it came, and can't be served. */
type Problem =
  | { readonly kind: "refused"; readonly message: string }
  | { readonly kind: "failed"; readonly reason: string; readonly message: string };

interface SideProblems {
  readonly base?: Problem | undefined;
  readonly remote?: Problem | undefined;
}

/**
 * A source of provider remote. FileSource reads the file (the _base_), RemoteFetch the remote, and MergedSides delivers both as one document. This
 * class connects the three, and tells the source's state, the metrics and the log what became of them. It is the entry of a chunk.
 *
 * Invariants:
 * - The file's flags are served without the remote only after a second, or as soon as the remote has failed.
 * - A side that fails, or sends what can't be read, keeps the document that it had: edits of the other side are merged with that.
 * - The source is lost as long as the file can't be read or the remote can't be asked, and refused as long as a side or the merge can't be used:
 *   it may be both. Of two of a kind, the file's is told, without which there is nothing to merge, else that of the merge.
 * - The source's document counts as confirmed only while there is no problem, and the newest versions of both sides are merged.
 * - A copy of what the remote said last is read before the remote is asked.
 */
export class RemoteFollower {
  readonly #parts: SyncSourceParts<RemoteSourceConfig>;
  readonly #sides: MergedSides;
  readonly #room: HeapRoom;
  readonly #log: RateLimitedLog;
  #cancelFirstWait = (): void => undefined;
  #remote: RemoteFetch | undefined;
  #fetched: { readonly state: RemoteState; readonly sinceMs: number };
  #problems: SideProblems = {};
  #mergeProblem: Problem | undefined;
  /** The problems that the source's state was told last; compared by identity, so that each failure is told. */
  #told: { readonly failure?: Problem | undefined; readonly refusal?: Problem | undefined } = {};
  /** Remarks in the last line of the log, so that they are not logged twice. */
  #remarks = "";
  #leftOut: string | undefined;

  constructor(parts: SyncSourceParts<RemoteSourceConfig>) {
    const { config, options } = parts;
    const { clock, logger } = options.context;
    this.#parts = parts;
    this.#room = new HeapRoom(clock);
    this.#log = new RateLimitedLog(logger, clock);
    this.#fetched = { state: { kind: "starting" }, sinceMs: clock.monotonicMs() };
    this.#sides = new MergedSides({
      config,
      receiver: options.receiver,
      onServed: (remote) => this.#documentServed(remote),
      onMerged: () => this.#tell(),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { options, state, config } = this.#parts;
    const { clock, metrics } = options.context;
    state.follows(() => this.#view());
    metrics.remotes().remoteState(config.sourceIndex, "starting");
    this.#cancelFirstWait = clock.after(firstAnswerMs, () => {
      this.#sides.begin();
      this.#tell();
    });
    const copies = options.receiver.remoteCopies?.(config);
    this.#remote = this.#fetch(copies);
    try {
      const { remote: before } = options.receiver.memoryOf(config.sourceIndex);
      if (before !== undefined) this.#sides.takeRemote(before);
      else await copies?.load((_, { bytes }) => this.#takeCopy(bytes));
      await Promise.all([this.#baseFile().run(signal), this.#remote.run(signal)]);
    } finally {
      this.#cancelFirstWait();
      await this.#sides.close();
      await copies?.flush();
    }
  }

  #baseFile(): FileSource {
    const { config, options } = this.#parts;
    const { sourceIndex, path } = config;
    return new FileSource({
      config: { provider: "file", sourceIndex, uri: path, selector: "", path },
      options: {
        ...options,
        receiver: { ...options.receiver, deliver: ({ bytes }) => this.#takeBase(bytes) },
      },
      state: {
        failed: (reason, message) => this.#setProblem("base", { kind: "failed", reason, message }),
        refused: (message) => this.#setProblem("base", refused(message)),
        delivered: (result) =>
          this.#setProblem("base", "refusal" in result ? refused(`${path}: ${result.refusal}`) : undefined),
      },
    });
  }

  #fetch(copies: RemoteCopies | undefined): RemoteFetch {
    const { config, options } = this.#parts;
    const { clock } = options.context;
    const { remote: provider, hosts, sourceIndex, tokenFile, certPath } = config;
    const hasFiles = tokenFile + certPath !== "";
    const networks = ownAddresses(options.pod?.environment ?? {});
    const guard = new AddressGuard({ hosts, option: "--remote-hosts", networks });
    const limits = { bytes: options.maxDocumentBytes, timeoutMs };
    const kinds = remoteKinds({ guard, clock, limits, room: this.#room });
    const kind = kinds.get(provider.type);
    if (kind === undefined) throw new Error(`no remotes of the type ${provider.type} are read`);
    return new RemoteFetch({
      provider,
      kind,
      clock,
      readSecrets: hasFiles ? () => readCredentialFiles(config) : undefined,
      sink: {
        flags: () => this.#sides.remote?.flags,
        take: (document) => {
          this.#cancelFirstWait();
          this.#sides.takeRemote(document);
          copies?.keep(sourceIndex, Buffer.from(JSON.stringify(document)));
        },
      },
      onMoved: (event, state) => this.#remoteMoved(event, state),
    });
  }

  #takeBase(bytes: Buffer): DeliveryResult {
    try {
      this.#sides.takeBase(this.#documentOf(bytes));
      return { rejectedFlags: [] };
    } catch (error) {
      return { refusal: (error as Error).message };
    }
  }

  #takeCopy(bytes: Buffer): boolean | undefined {
    // It stays on disk, for an agent with more heap.
    if (!this.#room.has(documentHeapBytes(bytes))) return undefined;
    try {
      this.#sides.takeRemote(this.#documentOf(bytes));
    } catch {
      return false;
    }
    return true;
  }

  /** @throws Error with a sentence, if nothing of it can be served or the heap has no room */
  #documentOf(bytes: Buffer): FlagDocument {
    if (!this.#room.has(documentHeapBytes(bytes)))
      throw new Error(
        `its ${bytes.length} bytes need more heap than is free: raise the memory limit of the agent, or have fewer flags`,
      );
    const read = readDocument(JSON.parse(bytes.toString()) as JsonValue);
    const emptied = emptiedBy(read);
    if (emptied !== undefined) throw emptied;
    // The store refuses the flags one by one, and says so.
    return withRefusedFlags(read);
  }

  #remoteMoved({ kind }: RemoteEvent, state: RemoteState): void {
    const { config, options } = this.#parts;
    const { clock, metrics } = options.context;
    const { remoteAnswer, remoteState } = metrics.remotes();
    remoteAnswer(config.sourceIndex, kind);
    if (state.kind !== this.#fetched.state.kind) remoteState(config.sourceIndex, state.kind);
    const sinceMs = state.kind === this.#fetched.state.kind ? this.#fetched.sinceMs : clock.monotonicMs();
    this.#fetched = { state, sinceMs };
    this.#logLeftOut(this.#remote?.leftOut);
    // The state's failure, not the event's: that nothing came for long says less than what failed before.
    const problem = state.failure && problemOf(state.failure);
    this.#setProblem("remote", problem);
    // A remote that has failed will say nothing soon.
    if (problem !== undefined) this.#sides.begin();
  }

  #setProblem(side: keyof SideProblems, problem: Problem | undefined): void {
    this.#problems = { ...this.#problems, [side]: problem };
    this.#tell();
  }

  /** Tells the source's state the problems that count, if these are others, or that there is none. */
  #tell(): void {
    const { state } = this.#parts;
    const { merged, refusal: refusedMerge, isMerging } = this.#sides;
    const { base, remote } = this.#problems;
    if (refusedMerge !== this.#mergeProblem?.message)
      this.#mergeProblem = refusedMerge === undefined ? undefined : refused(refusedMerge);
    const problems = [base, this.#mergeProblem, remote];
    const failure = problems.find((problem) => problem?.kind === "failed");
    const refusal = problems.find((problem) => problem?.kind === "refused");
    const told = this.#told;
    this.#told = { failure, refusal };
    if (failure !== undefined) {
      if (failure !== told.failure) state.failed(failure.reason, failure.message);
      if (refusal !== told.refusal) state.refusedBeside(refusal?.message);
    } else if (refusal !== undefined) {
      if (refusal !== told.refusal || told.failure !== undefined)
        state.refused(refusal.message, { isLogged: false });
    } else {
      const isNewest = merged !== undefined && !isMerging && this.#fetched.state.kind === "synced";
      if (isNewest) state.documentConfirmed();
    }
  }

  #documentServed(remote: FlagDocument | undefined): void {
    const { state, config, options } = this.#parts;
    if (remote !== undefined) options.receiver.memoryOf(config.sourceIndex).remote = remote;
    state.documentTaken();
    this.#countFlags();
    this.#logRemarks(this.#sides.merged?.remarks.join("; ") ?? "");
  }

  #countFlags(): void {
    const { config, options } = this.#parts;
    const { remoteFlags: count } = options.context.metrics.remotes();
    const { local = Object.keys(this.#sides.base?.flags ?? {}).length, remote = 0 } =
      this.#view().flags ?? {};
    count(config.sourceIndex, "local", local);
    count(config.sourceIndex, "remote", remote);
  }

  #logRemarks(remarks: string): void {
    if (remarks === this.#remarks) return;
    this.#remarks = remarks;
    if (remarks === "") return;
    const fields = { sourceIndex: this.#parts.config.sourceIndex, remarks: cut(remarks) };
    this.#log.info(
      "merged",
      fields,
      "the file's flags and the remote's are not merged as they are",
      linesPerMinute,
    );
  }

  #logLeftOut(leftOut: string | undefined): void {
    if (leftOut === this.#leftOut) return;
    this.#leftOut = leftOut;
    if (leftOut === undefined) return;
    const fields = { sourceIndex: this.#parts.config.sourceIndex, leftOut };
    this.#log.warn("left_out", fields, "flags of a remote are left out", linesPerMinute);
  }

  #view(): SourceRemote {
    const { clock } = this.#parts.options.context;
    const { state, sinceMs } = this.#fetched;
    const { merged } = this.#sides;
    const report = {
      state: state.kind,
      reason: state.failure?.reason,
      message: state.failure?.message,
      sinceMs,
      remarks: [...(this.#leftOut === undefined ? [] : [this.#leftOut]), ...(merged?.remarks ?? [])],
      provenance: merged?.provenance,
    };
    const offsetMs = clock.now() - clock.monotonicMs();
    const names = remoteFlags(report);
    return {
      ...remoteView(report, (ms) => Math.round(ms + offsetMs)),
      ...(names === undefined ? {} : { remoteFlags: names }),
    };
  }
}

function refused(message: string): Problem {
  return { kind: "refused", message };
}

/** The problem of a remote whose answer was refused, or that did not answer. Sources name reasons in `snake_case`, remotes as conditions do. */
function problemOf({ reason, message }: RemoteFailure): Problem {
  const word = reason.replaceAll(/\B[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
  return word === "document_invalid" || word === "emptied"
    ? refused(message)
    : { kind: "failed", reason: word, message };
}
