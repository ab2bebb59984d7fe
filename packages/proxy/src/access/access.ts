import type { Identity } from "@bunting/identity";
import type { TopicKey } from "@bunting/protocol";
import type { Call, TransportSession } from "@bunting/rpc";
import type { ProxyError } from "../proxy-error.js";

/** An admitted caller. */
export interface Admission {
  /** Undefined for anonymous callers. */
  readonly identity: Identity | undefined;
}

/** A stream, or its subscription to one topic, as far as access can end it. */
export interface Admitted {
  refuse(error: ProxyError): void;
}

/** Subscriptions that are to end for one reason. */
export interface LostSubscriptions {
  readonly error: ProxyError;
  readonly subscribers: ReadonlySet<Admitted>;
}

/**
 * Authentication and authorization of callers. The services ask at each call and for each topic, and register open streams,
 * which end when permission does. Errors are ProxyErrors: UNAUTHENTICATED, PERMISSION_DENIED, ACCESS_UNDECIDED if the API
 * server does not answer, and LIMIT_REACHED if too many decisions wait for it already.
 *
 * Without identities (`anonymousAccess`) a stream costs nothing here: no promise, no map entry, no allocation.
 */
export interface Access {
  /**
   * To be called once for each stream or unary call. One that is let in is one that is served.
   *
   * @throws ProxyError UNAUTHENTICATED, with a message that says what to present
   */
  admit(call: Call): Admission | Promise<Admission>;
  /**
   * The reason why a caller may not subscribe to a topic, in a sentence that names both; undefined if it may. A promise
   * never rejects, and is charged to the connection while it is pending.
   */
  authorize(
    admission: Admission,
    topic: TopicKey,
    connection: TransportSession,
  ): ProxyError | undefined | Promise<ProxyError | undefined>;
  /** Until `forget`, refuses `stream` with UNAUTHENTICATED when its token expires or its Pod is gone. */
  watchAdmission(admission: Admission, stream: Admitted): void;
  /** Until `forgetTopic`, refuses `subscriber` with PERMISSION_DENIED within a minute after its permission has ended. */
  watchTopic(admission: Admission, topic: TopicKey, subscriber: Admitted): void;
  /** The subscriptions to a topic that must not be sent its next version: what let them in has just changed. They are watched on. */
  lost(topic: TopicKey): readonly LostSubscriptions[];
  /** The stream has ended. */
  forget(stream: Admitted): void;
  /** The subscription has ended. */
  forgetTopic(subscriber: Admitted): void;
}

/** The admission of all callers without credentials. */
export const anonymous: Admission = { identity: undefined };

const none: readonly LostSubscriptions[] = [];

/** Admits every caller. */
export const anonymousAccess: Access = {
  admit: ({ stream }) => {
    stream.admit();
    return anonymous;
  },
  authorize: () => undefined,
  watchAdmission: ignore,
  watchTopic: ignore,
  lost: () => none,
  forget: ignore,
  forgetTopic: ignore,
};

function ignore(): void {
  // On purpose.
}
