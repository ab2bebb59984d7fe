import type {
  DocumentVersion,
  SourceFlagsMessage,
  SourceList,
  StaleCause,
} from "@bunting/sync-client/messages";
import type { InvalidFlag } from "@bunting/evaluation";
import type { FlagDocument } from "@bunting/protocol";
import type { RemoteView } from "@bunting/remote";
import type { Runnable, Context, Signal } from "@bunting/runtime";
import type { CurrentDocument } from "./current-document.js";
import type { ManifestSet } from "./manifest/manifest-set.js";
import type { RemoteSourceConfig } from "./source-config.js";
import type { SyncMetrics } from "./sync-metrics.js";
import type { SyncProtocol } from "./sync-protocol.js";

/** A source of flag documents. It runs until its signal aborts; an unreachable origin does not end it. */
export interface SyncSource extends Runnable {
  status(): SourceStatus;
  /** Begins anew, if it runs, so that it brings its newest document once more. */
  restart(): void;
  /** The same, but no more often than every ten seconds. */
  askAgain(): void;
}

/** How a source is doing, for metrics, readiness and the body of /readyz. Times are milliseconds since the epoch. */
export interface SourceStatus {
  readonly sourceIndex: number;
  readonly uri: string;
  readonly selector: string;
  /** `connecting`: not connected since the start. `disconnected`: no longer connected, so its flags may be stale. */
  readonly state: "connecting" | "connected" | "disconnected";
  /** Since when it has been in this state. */
  readonly since: number;
  /** When the newest document that was not refused came; undefined if none has. */
  readonly lastUpdate: number | undefined;
  /** Reason of the outage. */
  readonly error: string | undefined;
  /** What to do about the error, if that is known. */
  readonly advice?: string | undefined;
  /** The kind of outage, of the source or of what a proxy has its flags from. */
  readonly cause: StaleCause | undefined;
  /** Why a proxy that is connected can't follow the flags itself. */
  readonly proxyLost: string | undefined;
  /** The protocol of the last stream; undefined for a file, and before the first stream. */
  readonly protocol: SyncProtocol | undefined;
  /** Why there is no document, or the newest one is not served, although the source is connected. */
  readonly warning: string | undefined;
  /** It has answered that it has no document; absent: it has not. */
  readonly isEmpty?: boolean;
  /** Of a source of provider remote, once it runs. */
  readonly remote?: SourceRemote | undefined;
}

/** A remote, with the names of the flags that are of it, a thousand at most. */
export interface SourceRemote extends RemoteView {
  readonly remoteFlags?: readonly string[];
}

/** What a remote said last, on disk. */
export interface RemoteCopies {
  /** Passes the copy to `take`, which returns whether it can be used, or undefined if that is not known. */
  load(take: (sourceIndex: number, copy: { readonly bytes: Buffer }) => boolean | undefined): Promise<void>;
  keep(sourceIndex: number, bytes: Buffer): void;
  flush(): Promise<void>;
}

export interface Delivery {
  readonly sourceIndex: number;
  /** A flag document: JSON in UTF-8. It must not be written to any more. */
  readonly bytes: Buffer;
  /** The source's name for this document; undefined if it has none. */
  readonly version?: DocumentVersion | undefined;
  /** The document was deleted; delete the last-known-good copy too. `bytes` is a document without flags. */
  readonly isDeletion?: boolean;
}

/** `refusal` is the reason why the document can't be used; otherwise `rejectedFlags` lists the flags of it that can't be served. */
export type DeliveryResult =
  { readonly refusal: string } | { readonly rejectedFlags: readonly InvalidFlag[] };

/** Takes a document over or refuses it. The receiver logs a refusal. */
export type Deliver = (delivery: Delivery) => DeliveryResult;

/** A flag that can be served, and whose evaluations fail since its source has changed it. */
export interface FailingFlag {
  readonly sourceIndex: number;
  readonly key: string;
  readonly reason: string;
}

export interface PodEnvironment {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Where token and ca.crt are; "" for the place where the kubelet mounts them. */
  readonly serviceAccountDirectory: string;
  /** What the agent is called among others that ask a proxy for the same flags; the name of the host if it is empty or absent. */
  readonly instance?: string;
}

/** Takes what sources have: the store, and what follows their state. */
export interface DocumentReceiver {
  readonly deliver: Deliver;
  /** The last document of a source that was not refused. */
  readonly currentDocument: (sourceIndex: number) => CurrentDocument | undefined;
  /** Called each time a source answers with nothing to serve: its topic is missing or was deleted, or its newest document is refused. */
  readonly answered: (sourceIndex: number) => void;
  readonly confirm: (sourceIndex: number, version: DocumentVersion) => void;
  /** Called with false when a source is lost or its newest document is refused, and with true when its current document is known to be the newest. */
  readonly contact?: (sourceIndex: number, isConfirmed: boolean) => void;
  /** What turns out of documents once they are served: a source of bunting.sync.v1 tells its proxy. */
  readonly failing?: Pick<Signal<FailingFlag>, "listen">;
  /** Makes copies of what the remote of a source says; absent: none are kept. */
  readonly remoteCopies?: (config: RemoteSourceConfig) => RemoteCopies;
  /** The memory of the source at a place. */
  readonly memoryOf: (sourceIndex: number) => SourceMemory;
}

/** A list of FeatureFlags that the proxy tells. */
export interface FollowedList {
  readonly list: SourceList;
  /** The source whose streams ask for it. */
  readonly asking: number;
  readonly received: (list: SourceFlagsMessage) => void;
}

export interface DeletionRule {
  readonly policy: "keep" | "empty";
  /** How long the flags are served until the policy applies, in ms. */
  readonly graceMs: number;
}

/**
 * Knowledge of a source that it can't gain again, for the source that takes its place: one is begun anew when room comes, and moves to another place when
 * the list of an agent's sources changes.
 */
export interface SourceMemory {
  /** Flags of manifests, also from before these were broken; for providers file, dir and http. */
  manifests?: ManifestSet | undefined;
  /** The document of the remote, as it is served; for provider remote. */
  remote?: FlagDocument | undefined;
  /** Time at which the FeatureFlag was found deleted, in ms of the monotonic clock; for provider kubernetes. */
  deletedAtMs?: number | undefined;
  /** When its newest document came that was not refused, in ms since the epoch. */
  lastUpdate?: number | undefined;
  /** That of its last stream. */
  protocol?: SyncProtocol | undefined;
}

export interface SyncSourceOptions {
  readonly receiver: DocumentReceiver;
  readonly context: Context<SyncMetrics>;
  /** Where the files and variables of the Pod are; absent: where this process runs. For sources of provider kubernetes. */
  readonly pod?: PodEnvironment;
  /** What becomes of the flags of a FeatureFlag that is deleted, for sources of provider kubernetes; they are kept, if absent. */
  readonly deletion?: DeletionRule;
  /** The list of FeatureFlags that is asked for on the streams of one source; absent: none is followed. */
  readonly sourceList?: FollowedList | undefined;
  /** Documents beyond this size are refused before they are read. */
  readonly maxDocumentBytes: number;
}
