/** What a dashboard says; `renderDashboard` makes Grafana's JSON of it. */
export interface Dashboard {
  /** Stays the same for ever: links and Grafana itself know the dashboard by it. */
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly variables: readonly Variable[];
  readonly rows: readonly Row[];
}

/** A choice at the top of the dashboard: the values that a label of a metric has; all of them at first. */
export interface Variable {
  readonly name: string;
  readonly metric: string;
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

export interface Panel {
  readonly title: string;
  /** What the reader learns from it. */
  readonly description: string;
  readonly kind?: "timeseries" | "stat" | "table";
  readonly unit: Unit;
  readonly queries: readonly Query[];
  /** Of 24 columns. */
  readonly width?: 4 | 6 | 8 | 12 | 24;
  /** From these values on, stats and lines are orange or red. */
  readonly orange?: number;
  readonly red?: number;
}

export type Unit = "short" | "s" | "bytes" | "Bps" | "percentunit" | "reqps" | "dateTimeFromNow";

export interface Query {
  readonly expr: string;
  /** As Grafana writes it: `{{pod}}`. */
  readonly legend: string;
}

const datasource = { type: "prometheus", uid: "${datasource}" };

/** Grafana's JSON, of the schema of Grafana 11; newer ones migrate it by themselves. */
export function renderDashboard({ uid, title, description, variables, rows }: Dashboard): unknown {
  return {
    uid,
    title,
    description,
    tags: ["bunting"],
    schemaVersion: 39,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: "30s",
    time: { from: "now-1h", to: "now" },
    timezone: "browser",
    annotations: { list: [] },
    links: [],
    templating: { list: [datasourceVariable, ...variables.map(renderVariable)] },
    panels: renderRows(rows),
  };
}

const datasourceVariable = {
  name: "datasource",
  label: "Data source",
  type: "datasource",
  query: "prometheus",
  hide: 0,
  includeAll: false,
  multi: false,
  options: [],
  refresh: 1,
  regex: "",
};

function renderVariable({ name, metric }: Variable): object {
  const query = `label_values(${metric}, ${name})`;
  return {
    name,
    type: "query",
    datasource,
    query: { query, refId: name },
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    // Also takes series without the label.
    allValue: ".*",
    current: { selected: true, text: ["All"], value: ["$__all"] },
    hide: 0,
    options: [],
    regex: "",
  };
}

const height = { timeseries: 8, stat: 4, table: 8 };

/** Puts panels from left to right, and begins a new line where one does not fit. */
function renderRows(rows: readonly Row[]): object[] {
  const panels: object[] = [];
  let y = 0;
  for (const row of rows) {
    panels.push({
      id: panels.length + 1,
      type: "row",
      title: row.title,
      collapsed: false,
      panels: [],
      gridPos: { x: 0, y, w: 24, h: 1 },
    });
    y += 1;
    let x = 0;
    let h = 0;
    for (const panel of row.panels) {
      const w = panel.width ?? 8;
      if (x + w > 24) {
        y += h;
        x = 0;
        h = 0;
      }
      const ownHeight = height[panel.kind ?? "timeseries"];
      panels.push({ id: panels.length + 1, ...renderPanel(panel), gridPos: { x, y, w, h: ownHeight } });
      x += w;
      h = Math.max(h, ownHeight);
    }
    y += h;
  }
  return panels;
}

function renderPanel(panel: Panel): object {
  const { kind = "timeseries", title, description, queries } = panel;
  return {
    type: kind,
    title,
    description,
    datasource,
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode("A".charCodeAt(0) + index),
      datasource,
      expr,
      legendFormat: legend,
      editorMode: "code",
      ...(kind === "timeseries" ? { range: true } : { instant: true, range: false }),
      ...(kind === "table" ? { format: "table" } : {}),
    })),
    fieldConfig: { defaults: fieldDefaults(panel), overrides: [] },
    ...(kind === "table"
      ? { transformations: [{ id: "organize", options: { excludeByName: { Time: true } } }] }
      : {}),
    options: panelOptions[kind],
  };
}

function fieldDefaults({ kind = "timeseries", unit, orange, red }: Panel): object {
  const steps = [
    { color: "green", value: null },
    ...(orange === undefined ? [] : [{ color: "orange", value: orange }]),
    ...(red === undefined ? [] : [{ color: "red", value: red }]),
  ];
  const hasThreshold = steps.length > 1;
  return {
    unit,
    min: unit === "dateTimeFromNow" ? null : 0,
    thresholds: { mode: "absolute", steps },
    color: { mode: kind === "stat" ? "thresholds" : "palette-classic" },
    ...(kind === "timeseries"
      ? {
          custom: {
            drawStyle: "line",
            lineWidth: 1,
            fillOpacity: 10,
            showPoints: "never",
            spanNulls: false,
            thresholdsStyle: { mode: hasThreshold ? "line" : "off" },
          },
        }
      : {}),
  };
}

const panelOptions = {
  timeseries: {
    legend: { displayMode: "list", placement: "bottom", showLegend: true, calcs: [] },
    tooltip: { mode: "multi", sort: "desc" },
  },
  stat: {
    colorMode: "value",
    graphMode: "area",
    justifyMode: "auto",
    orientation: "auto",
    reduceOptions: { calcs: ["lastNotNull"], fields: "", values: false },
    textMode: "auto",
  },
  table: { showHeader: true, cellHeight: "sm" },
};
