import { expect, test } from "vitest";
import { serverState } from "../../../src/dashboard/views/server/servers.tsx";

const SERVER = { address: "wss://one.example.org/", sessions: 3, takesSessions: true };

test("a row says which server answers, which are linked, and which take no sessions", () => {
	expect(serverState({ ...SERVER, isSelf: true })).toBe("this server");
	expect(serverState({ ...SERVER, isLinked: true })).toBe("linked");
	expect(serverState({ ...SERVER, isLinked: false })).toBe("not linked");
	expect(serverState({ ...SERVER, isLinked: true, takesSessions: false })).toBe(
		"linked, takes no sessions",
	);
});
