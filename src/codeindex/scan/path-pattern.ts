import { type NamePattern, parseNamePattern } from "./name-pattern.ts";

export { matchesAll as matchesPath } from "../../text/wildcard.ts";

/** A pattern for paths, cut at its slashes. `**` stands for any number of names, `*` and `?` stay within one. */
export type PathPattern = readonly ("**" | NamePattern)[];

/** Parses a pattern for `matchesPath`; empty and `.` parts say nothing and are dropped. */
export function parsePathPattern(pattern: string): PathPattern {
	return pathPatternOf(pattern.split("/").filter((part) => part !== "" && part !== "."));
}

/** The pattern of parts that are cut already. */
export function pathPatternOf(parts: readonly string[]): PathPattern {
	return parts.map((part) => (part === "**" ? part : parseNamePattern(part)));
}
