import type { RemoteFlagProvider } from "@bunting/featureflags/resources";
import type { FlagDocument, JsonObject } from "@bunting/protocol";
import type { mergeRemote } from "@bunting/remote";

/** Why a remote can't be read: a name as of a condition's reason, and a sentence. */
export interface RemoteFailure {
  readonly reason: string;
  readonly message: string;
}

export interface RemoteReading {
  readonly provider: RemoteFlagProvider;
  /** Of the Secret; absent if the provider names none. */
  readonly credential?: string;
  readonly ca?: string;
  /** Called with each answer, and with the same object again if the remote says that nothing has changed. */
  readonly onDocument: (document: FlagDocument) => void;
  readonly onFailure: (failure: RemoteFailure) => void;
}

/** Reads remotes of one type at their pace until the signal aborts. Never rejects. */
export interface RemoteKind {
  run(reading: RemoteReading, signal: AbortSignal): Promise<void>;
}

/** What the stage needs to know of remotes. */
export interface RemoteLanguage {
  readonly kinds: ReadonlyMap<string, RemoteKind>;
  /** @throws Error with a sentence for the author of the FeatureFlag */
  readonly parse: (provider: JsonObject) => RemoteFlagProvider;
  readonly merge: typeof mergeRemote;
}
