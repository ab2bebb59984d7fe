import type { RequestListener } from "node:http";
import { RpcError } from "@bunting/rpc";
import type { Component } from "@bunting/runtime";
import { HttpExchange, type HttpExchangeOptions } from "@bunting/server";
import { challenge, unadmitted } from "../callers.js";
import type { Selection, Selections } from "../selection.js";
import type { FlagsRequestOptions } from "./answer-flags-request.js";

export interface SyncHttpOptions extends Omit<HttpExchangeOptions, "service"> {
  readonly sync: Pick<FlagsRequestOptions, "fetch">;
  readonly selections: Selections;
}

/** HTTP on the sync port, for `--sync-http-enabled`: loaded by its component, which must start before the port listens. */
export function syncHttp(options: SyncHttpOptions): {
  readonly listener: RequestListener;
  readonly component: Component;
} {
  const { sync, selections, clock } = options;
  let answer: ((exchange: HttpExchange) => void) | undefined;
  return {
    listener: (request, response) => {
      const exchange = new HttpExchange(request, response, { ...options, service: "sync" });
      if (exchange.answersPreflight()) return;
      if (exchange.isAdmitted()) answer?.(exchange);
      else
        exchange.refuse(
          401,
          { "content-type": "text/plain; charset=utf-8", ...challenge },
          `${unadmitted}\n`,
        );
    },
    component: {
      name: "sync-http",
      reason: "loaded before the sync port listens",
      start: async () => {
        const { answerFlagsRequest } = await import("./answer-flags-request.js");
        const requestOptions: FlagsRequestOptions = {
          select: (text) => selectionOf(selections, text),
          fetch: (selection) => sync.fetch(selection),
          now: () => clock.now(),
        };
        answer = (exchange) => answerFlagsRequest(exchange, requestOptions);
      },
      stop: () => Promise.resolve(),
    },
  };
}

function selectionOf(selections: Selections, text: string): Selection | undefined {
  try {
    return selections.of(text);
  } catch (error) {
    if (error instanceof RpcError) return undefined;
    throw error;
  }
}
