/**
 * A program: serves the demo and a built page until its standard input ends. Its argument is JSON; it prints one line of
 * JSON when it is ready. A process of its own, as in real life, so that a test can restart it.
 */
import { join } from "node:path";
import { serverFolderIn } from "../../src/core/server-address.ts";
import { limitsFrom, startServer } from "../../src/server/index.ts";

/** The argument of the program. */
export interface ServePageArgument {
	/** All of its files are below this folder: `agent`, with the data folder where pi finds it, `folder` and `tokens`. */
	root: string;
	pageFolder: string;
	/** 0 takes a free one. */
	port: number;
}

const { root, pageFolder, port }: ServePageArgument = JSON.parse(process.argv[2] ?? "");
const server = await startServer({
	dataDir: serverFolderIn(join(root, "agent")),
	agentDir: join(root, "agent"),
	cwd: join(root, "folder"),
	demo: "always",
	allowProjectTrust: false,
	listen: { port, host: "127.0.0.1" },
	auth: { tokenFile: join(root, "tokens") },
	origins: [],
	limits: limitsFrom(["drainMs=200"]),
	pageFolder,
	warn: (line) => console.error(line),
});
await server.ready;
console.log(JSON.stringify({ port: server.port, token: server.token }));
for await (const _ of process.stdin);
await server.stop("the test stops it");
process.exit(0);
