import type { Data } from "../../../protocol/index.ts";

type Point = Data<"MetricsHistory">["points"][number];

const MINUTE_MS = 60_000;

/** Distances of the labels of a time axis, in minutes. */
export const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440];

/**
 * The points on an axis of minutes in local time, so that labels are at whole hours. Minutes without a server
 * have a place on the axis and no values.
 */
export function historySeries(
	{ minutes, points }: Data<"MetricsHistory">,
	shownMinutes: number,
	now: Date,
) {
	const toLocal = (ms: number) => ms / MINUTE_MS - now.getTimezoneOffset();
	const last = Math.floor(now.getTime() / MINUTE_MS / minutes);
	const first = last - Math.ceil(shownMinutes / minutes) + 1;
	const places = Array.from({ length: last - first + 1 }, (_, at) => first + at);
	const byPlace = new Map(
		points.map((point) => [Math.floor(point.atMs / MINUTE_MS / minutes), point]),
	);
	const values = (pick: (point: Point) => number | undefined) =>
		places.map((place) => {
			const point = byPlace.get(place);
			return (point && pick(point)) ?? null;
		});
	return {
		numbers: places.map((place) => toLocal(place * minutes * MINUTE_MS)),
		values,
		/** The highest of `pick` where the server started, else null. */
		starts: (pick: (point: Point) => number) =>
			values((point) => (point.started ? pick(point) : undefined)),
	};
}

/** The name of a local minute: `14:05`; with `withDay`, `Mon 14:05`. */
export function minuteName(localMinute: number, withDay = false): string {
	const date = new Date(localMinute * MINUTE_MS); // read as UTC, since it is local already
	const time = date.toISOString().slice(11, 16);
	return withDay ? `${WEEKDAYS[date.getUTCDay()]} ${time}` : time;
}

const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
