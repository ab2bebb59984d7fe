#!/usr/bin/env node
// The command as it is linked at install, when dist/ has not been built yet.
import("../dist/bundle/bunting.mjs");
