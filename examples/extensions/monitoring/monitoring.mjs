import { mapTexts, refuse, serveExtension } from "@bunting/extension";

// What a service promises, as extensions.bunting.dev/monitoring: '{"availability": 99.9, "latencyMs": 20}', becomes annotations, by which an operator of the
// site makes alerts. The same hook says of FeatureFlags what is wrong with their directives before anybody relies on them.
const directives = {
  availability: {
    name: "slo-availability",
    isRight: (value) => value > 0 && value < 100,
    range: "a percentage below 100",
  },
  latencyMs: { name: "slo-latency-ms", isRight: (value) => value > 0, range: "milliseconds above 0" },
};

function problemsOf(configuration) {
  return Object.entries(configuration).flatMap(([key, value]) => {
    const directive = directives[key];
    if (directive === undefined) return [`${key} is none of ${Object.keys(directives).join(", ")}`];
    const isRight = typeof value === "number" && directive.isRight(value);
    return isRight ? [] : [`${key} is ${JSON.stringify(value)}: write ${directive.range}`];
  });
}

function preCreate({ object, configuration = {} }) {
  const [problem] = problemsOf(configuration);
  if (problem !== undefined) refuse(problem);
  const texts = Object.entries(configuration).map(([key, value]) => [
    `monitoring.example.com/${directives[key].name}`,
    String(value),
  ]);
  return mapTexts(object, "annotations", (annotations) => ({ ...annotations, ...Object.fromEntries(texts) }));
}

function lint({ configuration = {} }) {
  return problemsOf(configuration).map((message) => ({
    severity: "error",
    message,
    field: "/metadata/annotations",
  }));
}

const { url } = await serveExtension({ preCreate, lint });
console.log(`monitoring at ${url}`);
