import { Signal } from "@bunting/runtime";

/** `auto`: while something uses the proxy; `never`: it is installed by other means. */
export type ProxyMode = "auto" | "always" | "never";

/**
 * Whether anything uses the proxy. Users are what controllers compile: the sources of a namespace, for instance. Until all of them have been heard
 * of once, nobody knows that there is none.
 */
export class ProxyUse {
  readonly #mode: ProxyMode;
  readonly #users = new Set<string>();
  readonly #changed = new Signal();
  #hasHeardOfAll = false;

  constructor(mode: ProxyMode) {
    this.#mode = mode;
  }

  /** Undefined as long as it is not known. */
  get isWanted(): boolean | undefined {
    if (this.#mode !== "auto") return this.#mode === "always";
    if (this.#users.size > 0) return true;
    return this.#hasHeardOfAll ? false : undefined;
  }

  /** @param user any name, by which the user is known from then on */
  set(user: string, isUsing: boolean): void {
    this.#change(() => (isUsing ? this.#users.add(user) : this.#users.delete(user)));
  }

  /** All users have been heard of. */
  complete(): void {
    this.#change(() => (this.#hasHeardOfAll = true));
  }

  /** Calls back when `isWanted` has changed, until the returned function is called. */
  listen(listener: () => void): () => void {
    return this.#changed.listen(listener);
  }

  #change(change: () => unknown): void {
    const before = this.isWanted;
    change();
    if (this.isWanted !== before) this.#changed.emit();
  }
}
