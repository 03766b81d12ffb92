// Loads the client library for the other examples: its source in a clone, compiled JavaScript in the package. Your own
// program imports "pi-strata/client".

import { existsSync } from "node:fs";

const isClone = existsSync(new URL("../src/library/client.ts", import.meta.url));

/** @typedef {import("../src/library/client.ts").Transport} Transport */

/** @type {typeof import("../src/library/client.ts")} */
const library = await import(isClone ? "../src/library/client.ts" : "pi-strata/client");

export const { ClientError, createClient, webSocketTransport } = library;
