import { describe, expect, test } from "vitest";
import { addressFault } from "../../../src/server/cluster/links.ts";
import { covers, placement, type Server } from "../../../src/server/cluster/placement.ts";

function server(id: string, given: Partial<Server> = {}): Server {
	return {
		id,
		home: `home of ${id}`,
		address: `wss://${id}/`,
		workspaces: [],
		takesSessions: true,
		room: 10,
		sessions: 0,
		...given,
	};
}

const names = Array.from({ length: 300 }, (_, index) => ({
	principal: "ann",
	sessionId: `s${index}`,
}));
const firsts = (servers: readonly Server[]) =>
	names.map((name) => placement(servers, name, "/srv")[0]?.id);

describe("the place of a session", () => {
	test("is the same whoever computes it, and all servers get a share", () => {
		const servers = ["a", "b", "c"].map((id) => server(id));
		expect(firsts(servers.toReversed())).toEqual(firsts(servers));
		const shares = Map.groupBy(firsts(servers), (id) => id);
		for (const id of ["a", "b", "c"]) expect(shares.get(id)?.length).toBeGreaterThan(60);
	});

	test("changes only for the sessions of a server that leaves", () => {
		const servers = ["a", "b", "c"].map((id) => server(id));
		const [before, after] = [firsts(servers), firsts(servers.slice(0, 2))];
		for (const [index, id] of before.entries()) if (id !== "c") expect(after[index]).toBe(id);
	});

	test("does not change when a server starts again under another id", () => {
		const again = [server("a"), server("new b", { home: "home of b" }), server("c")];
		const renamed = firsts(again).map((id) => (id === "new b" ? "b" : id));
		expect(renamed).toEqual(firsts(["a", "b", "c"].map((id) => server(id))));
	});

	test("is a server that has the folder, has room and takes sessions", () => {
		const servers = [
			server("gateway", { takesSessions: false }),
			server("full", { room: 0 }),
			server("other", { workspaces: ["/srv/b"] }),
			server("right", { workspaces: ["/srv/a"] }),
		];
		const [name = { principal: "", sessionId: "" }] = names;
		expect(placement(servers, name, "/srv/a/project").map(({ id }) => id)).toEqual(["right"]);
		expect(placement(servers, name, "/elsewhere")).toEqual([]);
	});

	test("a workspace covers its folders, not those whose names begin alike", () => {
		expect(covers(["/srv/a"], "/srv/a")).toBe(true);
		expect(covers(["/srv/a/"], "/srv/a/b")).toBe(true);
		expect(covers(["/srv/a"], "/srv/ab")).toBe(false);
		expect(covers([], "/any")).toBe(true);
		expect(covers(["/srv/a"], undefined)).toBe(true);
	});
});

test("links to other machines need TLS, unless the network is said to be private", () => {
	expect(addressFault("wss://one.example.org/", false)).toBeUndefined();
	expect(addressFault("ws://127.0.0.1:3141/", false)).toBeUndefined();
	expect(addressFault("ws://10.0.0.7:3141/", false)).toContain("--plain-links");
	expect(addressFault("ws://10.0.0.7:3141/", true)).toBeUndefined();
	expect(addressFault("its standard input", false)).toContain("not an address");
});
