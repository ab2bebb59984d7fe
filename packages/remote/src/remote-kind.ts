import type { RemoteFlagProvider } from "@bunting/featureflags/resources";
import type { AddressGuard } from "@bunting/outbound";
import type { FlagDocument } from "@bunting/protocol";
import type { Clock, DocumentRoom } from "@bunting/runtime";

/** Why a remote can't be read: a name as of a condition's reason, and a sentence. */
export interface RemoteFailure {
  readonly reason: string;
  readonly message: string;
}

/** What a remote sent, as far as it can be served. */
export interface RemoteFlags {
  readonly document: FlagDocument;
  /** What is left out of it, as a sentence. */
  readonly leftOut?: string | undefined;
}

/** What is to be read, and who is told. */
export interface RemoteReading {
  readonly provider: RemoteFlagProvider;
  /** Whose it is, such as a namespace: owners take turns. Absent if all are of one. */
  readonly owner?: string | undefined;
  /** A token, or what a header Authorization has; absent if none is sent. */
  readonly credential?: string;
  /** Certificates of the authorities to trust in PEM; without, those of Node. */
  readonly ca?: string;
  /** Called with each answer, and with the same object again if the remote says that nothing has changed. */
  readonly onFlags: (flags: RemoteFlags) => void;
  readonly onFailure: (failure: RemoteFailure) => void;
}

/** Reads remotes of one type at their pace until the signal aborts. Never rejects. */
export interface RemoteKind {
  run(reading: RemoteReading, signal: AbortSignal): Promise<void>;
}

/** What kinds of remotes have in common. */
export interface RemoteSurroundings {
  readonly guard: AddressGuard;
  readonly clock: Clock;
  readonly limits: {
    /** Of a document, packed and unpacked. */
    readonly bytes: number;
    /** For one whole answer. */
    readonly timeoutMs: number;
  };
  /** The heap that there is for documents. */
  readonly room: Pick<DocumentRoom, "has">;
  /** A number in [0, 1); replaced by tests. */
  readonly random?: () => number;
}
