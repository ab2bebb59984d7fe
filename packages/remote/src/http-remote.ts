import { createHash } from "node:crypto";
import { HttpFailure, type Validators } from "@bunting/sync-client/http";
import { authorization } from "./authorization.js";
import { polledRemote } from "./poll-remote.js";
import { inTurn, readFlagText } from "./read-flag-text.js";
import { RemoteDocumentError, remedies } from "./remote-error.js";
import type { RemoteFlags, RemoteKind, RemoteSurroundings } from "./remote-kind.js";

interface Answer {
  /** Of its bytes: an answer that is the same is not read again. */
  readonly digest: string;
  readonly validators: Validators;
  readonly flags: RemoteFlags;
}

/** A flag document at an address, as JSON or YAML. */
export function httpRemote(surroundings: RemoteSurroundings): RemoteKind {
  const { limits, room } = surroundings;
  return polledRemote(surroundings, (client, reading) => {
    const { provider, credential } = reading;
    /** The last one that could be read. What could not is fetched and read again: what was lacking may only have been heap. */
    let last: Answer | undefined;
    return async (signal) => {
      const headers = authorization(credential);
      const question = { url: provider.uri, headers, validators: last?.validators, limits, remedies };
      const fetched = await client.document(question, signal).catch((error: unknown) => {
        // It may be the condition that is refused: the next question has none.
        if (error instanceof HttpFailure && error.code === "client_error") last = undefined;
        throw error;
      });
      if (fetched.kind === "document") {
        const { body, isYaml, validators } = fetched;
        const digest = createHash("sha256").update(`${isYaml} `).update(body).digest("base64");
        const read = (): Promise<RemoteFlags> =>
          inTurn(reading, () => readFlagText(body, isYaml, { ...limits, room }));
        last = { digest, validators, flags: last?.digest === digest ? last.flags : await read() };
      } else if (last === undefined)
        throw new RemoteDocumentError(
          "the remote says that nothing has changed, without having said what there is",
        );
      return last.flags;
    };
  });
}
