/** Not those of ordinary work. */
const counted =
  /^(bunting_(?!\w*_(?:frames_written|messages?|encoded|message_bytes|published|watch_events|conflated))\w*_total(?:\{[^}]*\})?) (\S+)$/;

/** The counters of refusals, ended connections and the like on the proxy's /metrics. */
export class ProxyCounters {
  readonly #values: ReadonlyMap<string, number>;

  private constructor(values: ReadonlyMap<string, number>) {
    this.#values = values;
  }

  static async read(managementPort: number): Promise<ProxyCounters> {
    const response = await fetch(`http://127.0.0.1:${managementPort}/metrics`);
    const values = new Map<string, number>();
    for (const line of (await response.text()).split("\n")) {
      const [, name, value] = counted.exec(line) ?? [];
      if (name !== undefined) values.set(name, Number(value));
    }
    return new ProxyCounters(values);
  }

  /** Those that have grown, and by how much. */
  since(before: ProxyCounters): (readonly [name: string, growth: number])[] {
    return [...this.#values]
      .map(([name, value]) => [name, value - (before.#values.get(name) ?? 0)] as const)
      .filter(([, growth]) => growth > 0);
  }
}
