import type { OutgoingHttpHeaders } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { matches, type ApiRequest, type Match } from "./api-request.js";
import type { Drip, Exchange } from "./exchange.js";
import type { OpenWatch } from "./open-watch.js";
import type { Status } from "./status.js";

/** What happens to a request before it is served. `handled`: it is not served. */
export type Fault = (exchange: Exchange, request: ApiRequest) => Verdict | Promise<Verdict>;

export type Verdict = "handled" | "serve";

/** A fault and how often it still strikes. */
export interface ArmedFault {
  readonly struck: number;
  disarm(): void;
}

/** What happens to watches, once their head was sent and before their first event. */
export type WatchFault = (watch: OpenWatch) => void;

interface Armed<F> {
  readonly match: Match;
  readonly fault: F;
  readonly times: number;
  struck: number;
}

/** The faults of a test, armed for the requests to come: the first that matches and is not spent strikes. */
export class FaultScript<F> {
  #armed: Armed<F>[] = [];

  arm(match: Match, fault: F, times: number): ArmedFault {
    const armed: Armed<F> = { match, fault, times, struck: 0 };
    this.#armed.push(armed);
    return {
      get struck() {
        return armed.struck;
      },
      disarm: () => void (this.#armed = this.#armed.filter((other) => other !== armed)),
    };
  }

  take(request: ApiRequest): F | undefined {
    const armed = this.#armed.find(({ match, times, struck }) => struck < times && matches(match, request));
    if (armed === undefined) return undefined;
    armed.struck += 1;
    return armed.fault;
  }

  clear(): void {
    this.#armed = [];
  }
}

/** Faults for `fault(match, …)`. */
export const faults = {
  /** Any answer; a Status is sent as JSON, a string as plain text. */
  answer(code: number, body: Status | string, headers: OutgoingHttpHeaders = {}): Fault {
    return async (exchange): Promise<Verdict> => {
      const isText = typeof body === "string";
      const type = isText ? "text/plain; charset=utf-8" : "application/json";
      await exchange.answer(code, { "content-type": type, ...headers }, isText ? body : JSON.stringify(body));
      return "handled";
    };
  },

  /** No head and no end, until the client gives up. */
  hang(): Fault {
    return () => "handled";
  },

  /** RST_STREAM without a head. */
  reset(code?: number): Fault {
    return (exchange) => {
      exchange.reset(code);
      return "handled";
    };
  },

  /** GOAWAY; the request is still served, because it was sent before. */
  goAway(code?: number): Fault {
    return (exchange) => {
      exchange.goAway(code);
      return "serve";
    };
  },

  /** Served, but later. */
  delayed(ms: number): Fault {
    return async (exchange): Promise<Verdict> => {
      await exchange.hold(delay(ms, undefined, { signal: exchange.signal }).catch(() => undefined));
      return "serve";
    };
  },

  /** Served once the promise has resolved. */
  heldUntil(released: Promise<void>): Fault {
    return async (exchange): Promise<Verdict> => {
      await exchange.hold(released);
      return "serve";
    };
  },

  /** The answer comes in small pieces. */
  dripped(drip: Drip): Fault {
    return (exchange) => {
      exchange.drip(drip);
      return "serve";
    };
  },

  /** The answer ends, or is reset, after this many bytes of its body. */
  cutAfter(bytes: number, how: "reset" | "end"): Fault {
    return (exchange) => {
      exchange.cutAfter(bytes, how);
      return "serve";
    };
  },
} as const;
