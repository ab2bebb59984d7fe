#!/usr/bin/env node
// The command as it is linked at install, when dist/ has not been built yet.
require("../dist/bunting-operator.cjs");
