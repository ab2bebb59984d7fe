import type { Identity } from "@bunting/identity";
import type { TopicKey } from "@bunting/protocol";
import type { Call, TransportSession } from "@bunting/rpc";
import type { ProxyError } from "../proxy-error.js";

/** The result of letting a caller in. */
export interface Admission {
  /** Undefined for anonymous callers. */
  readonly identity: Identity | undefined;
}

/** A stream, or its subscription to one topic, that access can end. */
export interface Admitted {
  refuse(error: ProxyError): void;
}

/**
 * Who calls, and what may they read? The services ask at each call and for each topic, and have open streams watched. Its errors are
 * ProxyErrors: UNAUTHENTICATED, PERMISSION_DENIED, ACCESS_UNDECIDED where the API server has to be asked and does not answer,
 * and LIMIT_REACHED where too much waits for it already.
 *
 * Without identities (`anonymousAccess`) all of it costs a stream nothing: no promise, no map entry, no allocation.
 */
export interface Access {
  /**
   * To be called once for each stream or unary call.
   *
   * @throws ProxyError UNAUTHENTICATED, with a message that says what to present
   */
  admit(call: Call): Admission | Promise<Admission>;
  /**
   * Why a caller may not subscribe to a topic, in a sentence that names both; undefined if it may. A promise never rejects. While it waits
   * it is charged to the connection.
   */
  authorize(
    admission: Admission,
    topic: TopicKey,
    connection: TransportSession,
  ): ProxyError | undefined | Promise<ProxyError | undefined>;
  /** Has `stream` refused with UNAUTHENTICATED when its admission ends: its token expires, or its Pod is gone. Until `forget`. */
  watchAdmission(admission: Admission, stream: Admitted): void;
  /** Has `subscriber` refused with PERMISSION_DENIED within a minute after permission was taken away. Until `forgetTopic`. */
  watchTopic(admission: Admission, topic: TopicKey, subscriber: Admitted): void;
  /** The stream has ended. */
  forget(stream: Admitted): void;
  /** The subscription has ended. */
  forgetTopic(subscriber: Admitted): void;
}

/** The admission of all callers that say nothing of themselves. */
export const anonymous: Admission = { identity: undefined };

/** Lets everyone in. */
export const anonymousAccess: Access = {
  admit: () => anonymous,
  authorize: () => undefined,
  watchAdmission: ignore,
  watchTopic: ignore,
  forget: ignore,
  forgetTopic: ignore,
};

function ignore(): void {
  // On purpose.
}
