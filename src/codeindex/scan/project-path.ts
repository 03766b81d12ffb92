/** Paths relative to the project's root with forward slashes; the root is the empty string. No disk access. */

export function folderOf(path: string): string {
	const slash = path.lastIndexOf("/");
	return slash < 0 ? "" : path.slice(0, slash);
}

export function nameOf(path: string): string {
	return path.slice(path.lastIndexOf("/") + 1);
}

/** Joins a path to a folder and takes out `.` and `..`; `undefined` where that leads out of the project. */
export function joinPath(folder: string, path: string): string | undefined {
	// Most requests look like `./name` and `../name`; both are worth the short cut.
	if (path.startsWith("./") && !path.includes("/", 2) && path !== "./." && path !== "./..") {
		const name = path.slice(2);
		return name === "" || folder === "" ? name || folder : `${folder}/${name}`;
	}
	const names = folder === "" ? [] : folder.split("/");
	for (const name of path.split("/")) {
		if (name === "" || name === ".") continue;
		if (name !== "..") names.push(name);
		else if (names.pop() === undefined) return undefined;
	}
	return names.join("/");
}

/** Joins where both are known to be within the project. */
export function below(folder: string, path: string): string {
	return folder === "" ? path : path === "" ? folder : `${folder}/${path}`;
}

/** What remains of a path below a folder; `undefined` if it is not below, empty if it is the folder. */
export function restBelow(folder: string, path: string): string | undefined {
	if (folder === "") return path;
	if (path === folder) return "";
	return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : undefined;
}

/** The folder and those around it, innermost first, the root last. */
export function* foldersUpwards(folder: string): Generator<string> {
	for (let at = folder; at !== ""; at = folderOf(at)) yield at;
	yield "";
}
