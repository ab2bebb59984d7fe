import type { FlagDocument, JsonObject } from "@bunting/protocol";

/** A checked `spec.remoteFlagProvider`. */
export interface RemoteProvider {
  readonly type: string;
  readonly uri: string;
  readonly selector?: string;
  readonly strategy: "merge" | "override" | "replace";
  readonly intervalMs: number;
  readonly credentials?: { readonly secretRef: SecretKeyRef };
  readonly caSecretRef?: SecretKeyRef;
  readonly allowEmpty?: boolean;
}

/** A key of a Secret in the namespace of the FeatureFlag. */
export interface SecretKeyRef {
  readonly name: string;
  readonly key: string;
}

/** Why a remote can't be read: a name as of a condition's reason, and a sentence. */
export interface RemoteFailure {
  readonly reason: string;
  readonly message: string;
}

export interface RemoteReading {
  readonly provider: RemoteProvider;
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

export type Side = "local" | "remote";

export interface MergedRemote {
  readonly document: FlagDocument;
  /** Which side each flag is of. */
  readonly provenance: ReadonlyMap<string, Side>;
}

/** What the stage needs to know of remotes. */
export interface RemoteLanguage {
  readonly kinds: ReadonlyMap<string, RemoteKind>;
  /** @throws Error with a sentence for the author of the FeatureFlag */
  readonly parse: (provider: JsonObject) => RemoteProvider;
  readonly merge: (sides: {
    readonly local: FlagDocument;
    readonly remote: FlagDocument;
    readonly strategy: RemoteProvider["strategy"];
  }) => MergedRemote;
}
