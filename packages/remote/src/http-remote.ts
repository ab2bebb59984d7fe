import { createHash } from "node:crypto";
import { OutboundClient } from "@bunting/outbound";
import { HttpFailure, type Validators } from "@bunting/sync-client/http";
import { authorization } from "./authorization.js";
import { pollRemote } from "./poll-remote.js";
import { inTurn, readFlagText } from "./read-flag-text.js";
import { RemoteDocumentError, remedies } from "./remote-error.js";
import type { RemoteFlags, RemoteKind, RemoteReading, RemoteSurroundings } from "./remote-kind.js";

/** A flag document at an address, as JSON or YAML. */
export function httpRemote(surroundings: RemoteSurroundings): RemoteKind {
  return {
    run: async (reading, signal) => {
      const { guard, clock } = surroundings;
      const client = new OutboundClient({ guard: guard.of(reading.owner), ca: reading.ca, clock });
      const remote = new HttpDocument(client, reading, surroundings);
      try {
        await pollRemote((until) => remote.ask(until), reading, surroundings, signal);
      } finally {
        client.close();
      }
    },
  };
}

interface Answer {
  /** Of its bytes: an answer that is the same is not read again. */
  readonly digest: string;
  readonly validators: Validators;
  readonly read: { readonly flags: RemoteFlags } | { readonly error: RemoteDocumentError };
}

/** What is known from one question to the next. */
class HttpDocument {
  readonly #client: OutboundClient;
  readonly #reading: RemoteReading;
  readonly #limits: RemoteSurroundings["limits"];
  readonly #room: RemoteSurroundings["room"];
  #last: Answer | undefined;

  constructor(client: OutboundClient, reading: RemoteReading, { limits, room }: RemoteSurroundings) {
    this.#client = client;
    this.#reading = reading;
    this.#limits = limits;
    this.#room = room;
  }

  /** @throws HttpFailure, RemoteDocumentError */
  async ask(signal: AbortSignal): Promise<RemoteFlags> {
    const { provider, credential } = this.#reading;
    const last = this.#last;
    const fetched = await this.#client
      .document(
        {
          url: provider.uri,
          headers: authorization(credential),
          validators: last?.validators,
          limits: this.#limits,
          remedies,
        },
        signal,
      )
      .catch((error: unknown) => {
        // It may be the condition that is refused: the next question has none.
        if (error instanceof HttpFailure && error.code === "client_error") this.#last = undefined;
        throw error;
      });
    if (fetched.kind === "unchanged") {
      if (last === undefined)
        throw new RemoteDocumentError(
          "the remote says that nothing has changed, without having said what there is",
        );
      return flagsOf(last);
    }
    const { body, isYaml, validators } = fetched;
    const digest = createHash("sha256").update(`${isYaml} `).update(body).digest("base64");
    const read = last?.digest === digest ? last.read : await this.#read(body, isYaml);
    this.#last = { digest, validators, read };
    return flagsOf(this.#last);
  }

  async #read(body: Buffer, isYaml: boolean): Promise<Answer["read"]> {
    try {
      const bounds = { ...this.#limits, room: this.#room };
      return { flags: await inTurn(this.#reading, () => readFlagText(body, isYaml, bounds)) };
    } catch (error) {
      if (error instanceof RemoteDocumentError) return { error };
      throw error;
    }
  }
}

function flagsOf({ read }: Answer): RemoteFlags {
  if ("error" in read) throw read.error;
  return read.flags;
}
