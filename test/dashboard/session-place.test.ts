import { expect, test } from "vitest";
import { placesOf } from "../../src/dashboard/sessions/session-place.ts";

test("a line of the session list says which server has it, if there are several", () => {
	const sessions = [
		{ server: "wss://one.example.org/" },
		{ server: "ws://127.0.0.1:8001/" },
		{ server: "not an address" },
		{},
	];
	const placeOf = placesOf(sessions);
	expect(sessions.map((session) => placeOf?.(session))).toEqual([
		"one.example.org",
		"127.0.0.1:8001",
		"not an address",
		"parked",
	]);
});

test("with one server, none is named", () => {
	expect(placesOf([{}, {}])).toBeUndefined();
	expect(placesOf([])).toBeUndefined();
});
