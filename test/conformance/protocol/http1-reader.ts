import type { Exchange, ExchangeEnd } from "./exchange.js";

type State = "head" | "length" | "chunk-head" | "chunk" | "chunk-end" | "trailers" | "until-close" | "done";

/** Reads one response of HTTP/1.1; what follows it is left alone. */
export class Http1Reader {
  readonly #exchange: Exchange;
  readonly #isHead: boolean;
  #buffer: Buffer = Buffer.alloc(0);
  #state: State = "head";
  #left = 0;

  constructor(exchange: Exchange, isHead: boolean) {
    this.#exchange = exchange;
    this.#isHead = isHead;
  }

  push(chunk: Buffer): void {
    this.#buffer = Buffer.concat([this.#buffer, chunk]);
    while (this.#state !== "done" && this.#step());
  }

  /** How the exchange ended, if nothing more comes. */
  endNow(): ExchangeEnd {
    return this.#state === "until-close" || this.#state === "done" ? "complete" : "closed";
  }

  /** False if more bytes are needed. */
  #step(): boolean {
    switch (this.#state) {
      case "length":
      case "chunk":
      case "until-close":
        return this.#data();
      default:
        return this.#line();
    }
  }

  #data(): boolean {
    const isCounted = this.#state !== "until-close";
    const part = isCounted ? this.#buffer.subarray(0, this.#left) : this.#buffer;
    if (part.length === 0) return false;
    this.#exchange.push(part);
    this.#buffer = this.#buffer.subarray(part.length);
    this.#left -= part.length;
    if (isCounted && this.#left === 0) {
      if (this.#state === "length") this.#finish();
      else this.#state = "chunk-end";
    }
    return true;
  }

  #line(): boolean {
    const end = this.#state === "head" ? "\r\n\r\n" : "\r\n";
    const at = this.#buffer.indexOf(end);
    if (at < 0) return false;
    const text = this.#buffer.toString("latin1", 0, at);
    this.#buffer = this.#buffer.subarray(at + end.length);
    if (this.#state === "head") this.#head(text.split("\r\n"));
    else if (this.#state === "chunk-end") this.#state = "chunk-head";
    else if (this.#state === "chunk-head") {
      this.#left = Number.parseInt(text, 16);
      this.#state = this.#left === 0 ? "trailers" : "chunk";
    } else if (text === "") this.#finish();
    else this.#exchange.trailers = [...this.#exchange.trailers, fieldOf(text)];
    return true;
  }

  #head([first = "", ...fields]: string[]): void {
    const status = Number(/^HTTP\/\d(?:\.\d)? (\d{3})/.exec(first)?.[1] ?? 0);
    if (status >= 100 && status < 200) {
      this.#exchange.informational.push(status);
      return;
    }
    this.#exchange.status = status;
    this.#exchange.headers = fields.map(fieldOf);
    const length = this.#exchange.header("content-length");
    if (this.#isHead || status === 0 || status === 204 || status === 304 || length === "0") this.#finish();
    else if (/chunked/i.test(this.#exchange.header("transfer-encoding") ?? "")) this.#state = "chunk-head";
    else if (length === undefined) this.#state = "until-close";
    else {
      this.#state = "length";
      this.#left = Number(length);
    }
  }

  #finish(): void {
    this.#state = "done";
    this.#exchange.finish("complete");
  }
}

function fieldOf(line: string): [name: string, value: string] {
  const colon = line.indexOf(":");
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}
