/* The program of the static binary: CPython, linked with the C modules that bayplan uses and with the archive of all
 * Python modules and data files. It reads no file to start, so it needs no /tmp, no /proc and no libraries.
 *
 * packaging/binary defines MODULES as M(name, init) for each C module, and writes the archive and `boot`: the finder
 * of archive.py, and what Python imports before that. */
#include <Python.h>
#include <sys/auxv.h>

#include "modules.h" /* MODULES, FROZEN */

#define M(name, init) extern PyObject *init(void);
MODULES
#undef M

static PyObject *init_archive(void);

#define M(name, init) {name, init},
struct _inittab _PyImport_Inittab[] = {
    MODULES{"_bayplan", init_archive}, {"builtins", NULL}, {"sys", NULL}, {NULL, NULL}};
#undef M

#define BYTES(name) \
    __asm__(".section .rodata\n.balign 16\n" #name ":\n.incbin \"" #name "\"\n" #name "_end:\n.byte 0\n.previous\n"); \
    extern const unsigned char name[], name##_end[];
BYTES(archive)
#define F(name, symbol) BYTES(symbol)
FROZEN
#undef F

static struct _frozen frozen[16];

/* The module _bayplan: `archive`, the bytes of the archive. */
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_bayplan"};

static PyObject *init_archive(void) {
    PyObject *module = PyModule_Create(&definition);
    PyObject *view = PyMemoryView_FromMemory((char *)archive, archive_end - archive, PyBUF_READ);
    if (module == NULL || view == NULL || PyModule_AddObject(module, "archive", view) < 0) return NULL;
    return module;
}

static void leave_if_failed(PyStatus status) {
    if (PyStatus_Exception(status)) Py_ExitStatusException(status);
}

int main(int count, char **arguments) {
    /* Environment variables and files of users do not change Python. Text is UTF-8, whatever the locale is. */
    PyPreConfig before;
    PyPreConfig_InitIsolatedConfig(&before);
    before.utf8_mode = 1;
    leave_if_failed(Py_PreInitialize(&before));

    int number = 0;
#define F(name, symbol) frozen[number++] = (struct _frozen){name, symbol, (int)(symbol##_end - symbol), 0, NULL};
    FROZEN
#undef F
    for (struct _frozen *each = frozen; each->name; each++) each->is_package = strcmp(each->name, "encodings") == 0;
    PyImport_FrozenModules = frozen;

    PyConfig config;
    PyConfig_InitIsolatedConfig(&config);
    config.parse_argv = 0;
    config.site_import = 0;
    config.install_signal_handlers = 1;
    config.module_search_paths_set = 1;
    config.pathconfig_warnings = 0;
    config.write_bytecode = 0;
    /* The sandbox renders the same text everywhere, so its sets have one order. archive.py knows the same name. */
    if (count && strcmp(arguments[0], "bayplan-sandbox") == 0) config.use_hash_seed = 1;
    leave_if_failed(PyConfig_SetBytesArgv(&config, count, arguments));
    /* The path that started the program. The kernel gives it to the process, so it needs no /proc. */
    const char *path = (const char *)getauxval(AT_EXECFN);
    leave_if_failed(PyConfig_SetBytesString(&config, &config.executable, path ? path : "bayplan"));
    leave_if_failed(PyConfig_SetBytesString(&config, &config.prefix, ""));
    leave_if_failed(PyConfig_SetBytesString(&config, &config.exec_prefix, ""));
    leave_if_failed(PyConfig_SetBytesString(&config, &config.base_prefix, ""));
    leave_if_failed(PyConfig_SetBytesString(&config, &config.base_exec_prefix, ""));
    leave_if_failed(PyConfig_SetBytesString(&config, &config.base_executable, ""));
    leave_if_failed(Py_InitializeFromConfig(&config));
    PyConfig_Clear(&config);

    if (PyImport_ImportFrozenModule("_bayplan_boot") < 0) PyErr_Print();
    return Py_FinalizeEx() < 0 ? 120 : 1; /* _bayplan_boot ends the process */
}
