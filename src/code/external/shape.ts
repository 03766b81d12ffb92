import { faults } from "./faults.ts";

/** An object of an answer. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads values out of an answer of KotaDB. What has another form than it should is an error that names the place;
 * fields that nobody asks for are left alone.
 */
export interface Shape {
	object(value: unknown, place: string): Fields;
	list(value: unknown, place: string): readonly unknown[];
	text(value: unknown, place: string): string;
	/** A whole number, not below zero. */
	count(value: unknown, place: string): number;
	/** A path: some tools give it as text, others in an object. */
	path(value: unknown, place: string): string;
}

/** The reader for the answers of one tool. */
export function shapeOf(tool: string): Shape {
	const shape: Shape = {
		object(value, place) {
			if (typeof value === "object" && value !== null && !Array.isArray(value)) {
				return value as Fields;
			}
			throw wrong(value, "an object", place);
		},
		list(value, place) {
			if (Array.isArray(value)) return value;
			throw wrong(value, "a list", place);
		},
		text(value, place) {
			if (typeof value === "string") return value;
			throw wrong(value, "text", place);
		},
		count(value, place) {
			if (typeof value === "number" && value >= 0 && Number.isFinite(value)) {
				return Math.floor(value);
			}
			throw wrong(value, "a number", place);
		},
		path(value, place) {
			if (typeof value === "string") return value;
			const { path, file, file_path } = shape.object(value, place);
			return shape.text(path ?? file ?? file_path, `${place}.path`);
		},
	};
	return shape;

	function wrong(value: unknown, expected: string, place: string): Error {
		return faults.misshapen(tool, `${place} should be ${expected} and is ${nameOf(value)}`);
	}
}

/** The text in a field that need not be there. */
export function textOr<Fallback>(value: unknown, fallback: Fallback): string | Fallback {
	return typeof value === "string" && value !== "" ? value : fallback;
}

/** The list in a field that need not be there, or can be null. */
export function listOrNone(shape: Shape, value: unknown, place: string): readonly unknown[] {
	return value === undefined || value === null ? [] : shape.list(value, place);
}

/** A line or column, from 1; what is not known counts as the first. */
export function positionOf(value: unknown): number {
	return typeof value === "number" && value >= 1 && Number.isFinite(value) ? Math.floor(value) : 1;
}

function nameOf(value: unknown): string {
	if (value === undefined) return "missing";
	if (value === null) return "null";
	return Array.isArray(value) ? "a list" : typeof value === "object" ? "an object" : typeof value;
}
