import { openDialog } from "../parts/dialog.js";
import { Help } from "../parts/help.js";

export const endSession = (row) => openDialog(Help, { row });
