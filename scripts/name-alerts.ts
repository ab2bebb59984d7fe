import type { ChartFolder, ChartSchema } from "./chart-folder.js";

/** Where the schema has the names of alerts. */
interface RuleSchema {
  readonly prometheusRule: {
    readonly properties: { readonly disabledAlerts: { readonly items: { enum: string[] } } };
  };
}

/** Lets users of a chart leave out the alerts that there are in its files/alerts.yaml, and no others. */
export function nameAlerts({ properties }: ChartSchema, chart: ChartFolder): void {
  const { prometheusRule } = properties as unknown as RuleSchema;
  const names = [...chart.read("files/alerts.yaml").matchAll(/^ +- alert: (\w+)$/gm)];
  prometheusRule.properties.disabledAlerts.items.enum = names.map(([, name = ""]) => name);
}
