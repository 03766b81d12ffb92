import Type from "typebox";
import { listOf, numberFields } from "./field-schemas.ts";

/** The server's figures over some minutes. Counts are of these minutes, other figures are the highest. */
const Point = {
	/** When it begins. */
	atMs: Type.Number(),
	...numberFields("finished", "failed", "events"),
	...numberFields("clients", "sessions", "rssBytes", "heapUsedBytes", "journalBytes"),
	/** Time from acceptance to response; absent without commands. */
	latencyMs: Type.Optional(Type.Object(numberFields("p50", "p99"))),
	/** The server started in these minutes. */
	started: Type.Optional(Type.Literal(true)),
};

/** Kept on disk, so it goes back to before the server's start. */
export const MetricsHistory = Type.Object({
	/** The length of a point. */
	minutes: Type.Number(),
	/** The oldest first. Minutes without a server have none. */
	points: listOf(Point),
	/** For people: why no history is kept. */
	problem: Type.Optional(Type.String()),
});
